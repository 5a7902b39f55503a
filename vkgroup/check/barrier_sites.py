"""The barriers and atomics of a module, and the weaker forms in which a study tries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vkgroup.reference.interpreter.operations.memory_semantics import (
    DEVICE,
    INVOCATION,
    SUBGROUP,
    WORKGROUP,
    level_of,
    semantics_of,
)
from vkgroup.spirv import Instruction, Module, PointerType
from vkgroup.spirv.editor import Editor, Words

REMOVED, OF_SUBGROUP = "", "the subgroup's scope"
_SCOPES = {INVOCATION: (4, REMOVED), SUBGROUP: (3, OF_SUBGROUP), WORKGROUP: (2, "the workgroup's scope")}
"""The numbers of scopes in SPIR-V by level, and what is left in words. An atomic of an invocation's scope
is a plain access."""


class WeakerForm(NamedTuple):
    """A removed or weakened barrier or atomic."""

    text: str  # what is left of it, in words; empty if it is removed
    words: Callable[[Editor], Sequence[Words]]  # the instructions that replace it, which are as long


class BarrierSite(NamedTuple):
    """A barrier or an atomic of the module."""

    number: int  # of the instruction in the module
    position: int
    name: str  # in words, as in "without this NAME"
    changes: tuple[WeakerForm, ...]  # from the weakest


def _nops(editor: Editor, count: int) -> list[Words]:
    return [editor.instruction("OpNop")] * count


def _uint(editor: Editor, value: int) -> int:
    return editor.constant(editor.integer(), value)


class BarrierSites:
    """The barriers and atomics of a module with the changes that make them weaker."""

    def __init__(self, module: Module) -> None:
        self._module, self._declared = module, module.declarations
        self._types = {entry.result_id: entry.result_type for entry in module.instructions if entry.result_id}

    def __iter__(self) -> Iterator[BarrierSite]:
        """Yield them in the order of the module, without atomics that cannot be weaker."""
        for number, entry in enumerate(self._module.instructions):
            if entry.name == "OpControlBarrier":
                is_narrow = level_of(self._value(entry.operands[0])) <= SUBGROUP
                name = "subgroup barrier" if is_narrow else "barrier"
                yield BarrierSite(number, entry.position, name, self._control(entry))
            elif entry.name == "OpMemoryBarrier":
                yield BarrierSite(number, entry.position, "memory barrier", self._memory(entry))
            elif entry.name.startswith("OpAtomic") and len(changes := self._atomic(entry)) > 1:
                yield BarrierSite(number, entry.position, "atomic", changes)

    def _value(self, identifier: int) -> int:
        constant = self._declared.constants.get(identifier)
        return int(constant.evaluate()) if constant is not None else 0

    def _orders(self, scope: int, semantics: int) -> bool:
        """Whether a memory scope and semantics order anything."""
        return bool(semantics_of(self._value(scope), self._value(semantics)).kinds)

    def _control(self, entry: Instruction) -> tuple[WeakerForm, ...]:
        execution, memory, semantics = entry.operands
        changes = [WeakerForm(REMOVED, lambda editor: _nops(editor, 4))]
        if self._orders(memory, semantics):
            changes += [
                WeakerForm(
                    "a barrier of execution alone",
                    lambda editor: [
                        editor.instruction("OpControlBarrier", execution, memory, _uint(editor, 0))
                    ],
                ),
                WeakerForm(
                    "a barrier of memory alone",
                    lambda editor: [
                        editor.instruction("OpMemoryBarrier", memory, semantics),
                        *_nops(editor, 1),
                    ],
                ),
            ]
        if level_of(self._value(execution)) > SUBGROUP:
            changes.append(
                WeakerForm(
                    OF_SUBGROUP,
                    lambda editor: [
                        editor.instruction("OpControlBarrier", *[_uint(editor, 3)] * 2, semantics)
                    ],
                )
            )
        return tuple(changes)

    def _memory(self, entry: Instruction) -> tuple[WeakerForm, ...]:
        scope, semantics = entry.operands
        changes = [WeakerForm(REMOVED, lambda editor: _nops(editor, 3))]
        level = level_of(self._value(scope))
        for narrower in (SUBGROUP, WORKGROUP):
            if self._orders(scope, semantics) and narrower < level:
                changes.append(self._scoped(entry, 0, narrower))
        return tuple(changes)

    def _atomic(self, entry: Instruction) -> tuple[WeakerForm, ...]:
        scope, masks = 1, (2, 3) if entry.name.startswith("OpAtomicCompareExchange") else (2,)
        changes = [self._scoped(entry, scope, INVOCATION)]
        if self._orders(entry.operands[scope], entry.operands[masks[0]]):
            changes.append(self._replaced(entry, masks, 0, "relaxed semantics"))
        pointer = self._declared.types.get(self._types.get(entry.operands[0], 0))
        is_shared = isinstance(pointer, PointerType) and pointer.storage_class == "Workgroup"
        level = min(level_of(self._value(entry.operands[scope])), WORKGROUP if is_shared else DEVICE)
        for narrower in (SUBGROUP, WORKGROUP):
            if narrower < level:
                changes.append(self._scoped(entry, scope, narrower))
        return tuple(changes)

    def _scoped(self, entry: Instruction, operand: int, level: int) -> WeakerForm:
        """Return an instruction with another memory scope."""
        return self._replaced(entry, (operand,), *_SCOPES[level])

    def _replaced(self, entry: Instruction, operands: Sequence[int], value: int, text: str) -> WeakerForm:
        first = 1 + (entry.result_type != 0) + (entry.result_id != 0)

        def words(editor: Editor) -> list[Words]:
            changed = self._module.words[entry.position : entry.position + first + len(entry.operands)]
            changed = changed.copy()
            changed[[first + operand for operand in operands]] = _uint(editor, value)
            return [changed.tolist()]

        return WeakerForm(text, words)


def marked(site: BarrierSite, editor: Editor) -> list[Words]:
    """Return a barrier or atomic after a memory barrier that orders nothing."""
    scope, semantics = _uint(editor, 4), _uint(editor, 0)
    return [editor.instruction("OpMemoryBarrier", scope, semantics), editor.instructions[site.number]]

"""Barriers and atomics of a shader: which of them its runs need, and where a weaker one is enough.

Each is removed or weakened in a copy of the module, which runs with the inputs, sizes and lanes of the check.
It is needed where an error appears that the shader itself does not have, or where an output becomes another
one or depends on the order of atomics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from vkgroup.base.errors import DispatchTimeout, OutOfMemory, Unsupported
from vkgroup.base.phases import DeadlineReached, phase
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.findings import SourceLocation, SourceLocations, join
from vkgroup.check.report import BarrierResult, BarrierVerdict
from vkgroup.check.runs import CheckedRun
from vkgroup.check.state import CheckState
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.operations.memory_semantics import (
    DEVICE,
    INVOCATION,
    SUBGROUP,
    WORKGROUP,
    level_of,
    semantics_of,
)
from vkgroup.spirv import Instruction, Module, PointerType
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Words

_BUDGET = 1 << 30
"""Limit of the work of all runs, as in `WorkBudget`: about 20 seconds. Barriers beyond it are left out."""

_REMOVED, _OF_SUBGROUP = "", "the subgroup's scope"
_SCOPES = {INVOCATION: (4, _REMOVED), SUBGROUP: (3, _OF_SUBGROUP), WORKGROUP: (2, "the workgroup's scope")}
"""The numbers of scopes in SPIR-V by level, and what is left in words. An atomic of an invocation's scope
is a plain access."""


class _Change(NamedTuple):
    """A removed or weakened barrier or atomic."""

    text: str  # what is left of it, in words; empty if it is removed
    words: Callable[[Editor], Sequence[Words]]  # the instructions that replace it, which are as long


class _Site(NamedTuple):
    """A barrier or an atomic of the module."""

    number: int  # of the instruction in the module
    position: int
    name: str  # in words, as in "without this NAME"
    changes: tuple[_Change, ...]  # from the weakest


def _nops(editor: Editor, count: int) -> list[Words]:
    return [editor.instruction("OpNop")] * count


def _uint(editor: Editor, value: int) -> int:
    return editor.constant(editor.integer(), value)


class _Sites:
    """The barriers and atomics of a module with the changes that make them weaker."""

    def __init__(self, module: Module) -> None:
        self._module, self._declared = module, Declarations(module)
        self._types = {entry.result_id: entry.result_type for entry in module.instructions if entry.result_id}

    def __iter__(self) -> Iterator[_Site]:
        """Yield them in the order of the module, without atomics that cannot be weaker."""
        for number, entry in enumerate(self._module.instructions):
            if entry.name == "OpControlBarrier":
                is_narrow = level_of(self._value(entry.operands[0])) <= SUBGROUP
                name = "subgroup barrier" if is_narrow else "barrier"
                yield _Site(number, entry.position, name, self._control(entry))
            elif entry.name == "OpMemoryBarrier":
                yield _Site(number, entry.position, "memory barrier", self._memory(entry))
            elif entry.name.startswith("OpAtomic") and len(changes := self._atomic(entry)) > 1:
                yield _Site(number, entry.position, "atomic", changes)

    def _value(self, identifier: int) -> int:
        constant = self._declared.constants.get(identifier)
        return int(constant.evaluate()) if constant is not None else 0

    def _orders(self, scope: int, semantics: int) -> bool:
        """Whether a memory scope and semantics order anything."""
        return bool(semantics_of(self._value(scope), self._value(semantics)).kinds)

    def _control(self, entry: Instruction) -> tuple[_Change, ...]:
        execution, memory, semantics = entry.operands
        changes = [_Change(_REMOVED, lambda editor: _nops(editor, 4))]
        if self._orders(memory, semantics):
            changes += [
                _Change(
                    "a barrier of execution alone",
                    lambda editor: [
                        editor.instruction("OpControlBarrier", execution, memory, _uint(editor, 0))
                    ],
                ),
                _Change(
                    "a barrier of memory alone",
                    lambda editor: [
                        editor.instruction("OpMemoryBarrier", memory, semantics),
                        *_nops(editor, 1),
                    ],
                ),
            ]
        if level_of(self._value(execution)) > SUBGROUP:
            changes.append(
                _Change(
                    _OF_SUBGROUP,
                    lambda editor: [
                        editor.instruction("OpControlBarrier", *[_uint(editor, 3)] * 2, semantics)
                    ],
                )
            )
        return tuple(changes)

    def _memory(self, entry: Instruction) -> tuple[_Change, ...]:
        scope, semantics = entry.operands
        changes = [_Change(_REMOVED, lambda editor: _nops(editor, 3))]
        level = level_of(self._value(scope))
        for narrower in (SUBGROUP, WORKGROUP):
            if self._orders(scope, semantics) and narrower < level:
                changes.append(self._scoped(entry, 0, narrower))
        return tuple(changes)

    def _atomic(self, entry: Instruction) -> tuple[_Change, ...]:
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

    def _scoped(self, entry: Instruction, operand: int, level: int) -> _Change:
        """Return an instruction with another memory scope."""
        return self._replaced(entry, (operand,), *_SCOPES[level])

    def _replaced(self, entry: Instruction, operands: Sequence[int], value: int, text: str) -> _Change:
        first = 1 + (entry.result_type != 0) + (entry.result_id != 0)

        def words(editor: Editor) -> list[Words]:
            changed = self._module.words[entry.position : entry.position + first + len(entry.operands)]
            changed = changed.copy()
            changed[[first + operand for operand in operands]] = _uint(editor, value)
            return [changed.tolist()]

        return _Change(text, words)


_MARK, _MOST_WATCHED = 3, 16


def _marked(site: _Site, editor: Editor) -> list[Words]:
    """Return a barrier or atomic after a memory barrier that orders nothing."""
    scope, semantics = _uint(editor, 4), _uint(editor, 0)
    return [editor.instruction("OpMemoryBarrier", scope, semantics), editor.instructions[site.number]]


@dataclass
class _Outcome:
    """What the runs of one change show."""

    errors: dict[int, str] = field(default_factory=dict)  # by subgroup size; empty text for none

    @property
    def wrong(self) -> list[int]:
        return [size for size, text in sorted(self.errors.items()) if text]

    @property
    def right(self) -> list[int]:
        return [size for size, text in sorted(self.errors.items()) if not text]


class _BudgetSpent(Exception):
    """The work of all runs has reached its limit."""


@dataclass
class BarrierStudy:
    """The runs of a check with its barriers and atomics removed or weakened.

    `states`: the check with each of its inputs, after its runs.
    `not_executed`: as in `Coverage`.
    """

    states: Sequence[CheckState]
    not_executed: Sequence[str] = ()
    results: list[BarrierResult] = field(default_factory=list)
    work: int = 0

    @cached_property
    def _module(self) -> Module:
        return self.states[0].dispatch.program.module

    @cached_property
    def _bases(self) -> list[tuple[CheckState, list[CheckedRun]]]:
        """The inputs with their runs, lanes in order first, that a changed shader is compared with."""
        bases = []
        for state in self.states:
            runs = [run for run in state.runs if not any(event.kind == "hang" for event in run.events)]
            if state.dispatch.program.module.words.size == self._module.words.size and runs:
                bases.append((state, sorted(runs, key=lambda run: run.configuration.shuffled)))
        return bases

    def run(self) -> None:
        """Fill `results`: one for each barrier, and for each atomic that could be weaker."""
        sites = list(_Sites(self._module))
        executed = {position for _, runs in self._bases for run in runs for position in run.executed}
        left_out = ""
        for site in sites:
            place = self.states[0].places[site.position]
            reason = left_out if site.position in executed else "it was not executed"
            if not reason:
                try:
                    with phase(f"weakening the {site.name} in line {place.line}"):
                        self._add(self._result(site, place))
                    continue
                except _BudgetSpent:
                    reason = "the limit of work is reached; give fewer sizes or groups"
                except DeadlineReached:
                    self.states[0].note_deadline(verdict=True)
                    reason = left_out = "the time limit is reached; give more (--timeout)"
            self._add(BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, f"not tried: {reason}"))

    def _add(self, result: BarrierResult) -> None:
        # A function that a compiler has inlined twice has the same barriers twice.
        same = (known for known in self.results if known.place.identity == result.place.identity)
        if result not in [replace(known, place=result.place) for known in same]:
            self.results.append(result)

    def _result(self, site: _Site, place: SourceLocation) -> BarrierResult:
        """Return the result of one barrier or atomic."""
        weakest: _Outcome | None = None
        sufficient, partly = [], None
        for change in site.changes:
            outcome = self._outcome(site, change)
            weakest = weakest or outcome
            if not outcome.wrong:
                if change.text == _REMOVED:
                    return self._unneeded(site, place)
                sufficient.append(change.text)
                break
            wrong, right = outcome.wrong, outcome.right
            if change.text in (_REMOVED, _OF_SUBGROUP) and right and max(wrong) < min(right):
                partly = partly or (change.text, min(right))
        assert weakest is not None
        errors = {size: weakest.errors[size] for size in weakest.wrong}
        error = next(iter(errors.values()), "")
        if sufficient:
            verdict, text = BarrierVerdict.WEAKER, f"{sufficient[0]} is enough for this {site.name}"
            if doubt := self._doubt(site):
                verdict, text = BarrierVerdict.UNDECIDED, f"in these runs {text}, but {doubt}"
        elif partly is not None:
            verdict, text = BarrierVerdict.SMALLER, f"needed only at subgroup sizes smaller than {partly[1]}"
            if partly[0]:
                text += f"; from there {partly[0]} is enough"
        else:
            verdict, text = BarrierVerdict.NEEDED, "needed"
        return BarrierResult(place, site.name, verdict, text, tuple(errors), error)

    def _unneeded(self, site: _Site, place: SourceLocation) -> BarrierResult:
        """Return the result of a barrier or atomic without which no run shows an error."""
        if site.name == "atomic":
            text = "no run has two invocations that access one element"
            return BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, text)
        text = f"no run needs this {site.name}"
        if doubt := self._doubt(site):
            return BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, f"{text}, but {doubt}")
        return BarrierResult(place, site.name, BarrierVerdict.UNNEEDED, text)

    def _doubt(self, site: _Site) -> str:
        """Return why runs that do not need something do not show that it is not needed; empty for nothing."""
        if self.not_executed:
            return f"they do not execute {', '.join(self.not_executed)}: give inputs with which they do"
        state = self.states[0]
        if (
            state.counted.is_in_loop(site.position)
            and max(self._rounds(site, *base) for base in self._bases) < 2
        ):
            return "the loop around it has only one round: give inputs with which it has more"
        return ""

    def _rounds(self, site: _Site, state: CheckState, runs: Sequence[CheckedRun]) -> int:
        """Return how often an invocation executes a barrier or atomic at most, of a few invocations."""
        where = runs[-1].configuration
        # The trace shows no barriers of execution, so there is an instruction without effect before it.
        marked = self._changed(state.dispatch.program.module, site, _Change("", partial(_marked, site)))
        position = site.position + marked.words.size - state.dispatch.program.module.words.size - _MARK
        first = (who.local for who in state.dispatch.example_invocations(where, _MOST_WATCHED))
        watched = {((x, y, z), local) for local in first for x, y, z in np.ndindex(*state.dispatch.groups)}
        outcome = state.dispatch.execute(
            where,
            state.dispatch.inputs.resources(),
            watch=set(sorted(watched)[:_MOST_WATCHED]),
            program=state.dispatch.remade(module=marked),
        )
        counts = [sum(each.position == position for each in trace) for trace in outcome.trace.values()]
        return max(counts, default=0)

    def _outcome(self, site: _Site, change: _Change) -> _Outcome:
        """Run a changed shader at all sizes with all inputs."""
        outcome = _Outcome()
        for state, runs in self._bases:
            changed = self._changed(state.dispatch.program.module, site, change)
            further = changed.words.size - state.dispatch.program.module.words.size
            program = state.dispatch.remade(module=changed)
            for base in runs:
                size = base.configuration.subgroup_size
                if outcome.errors.get(size):
                    continue
                if self.work > _BUDGET:
                    raise _BudgetSpent
                try:
                    run = state.dispatch.run(base.configuration, program=program)
                except (DispatchTimeout, OutOfMemory, Unsupported):
                    outcome.errors[size] = "it does not end"
                    continue
                self.work += run.work
                outcome.errors[size] = self._error(state, base, run, changed, further)
        return outcome

    def _changed(self, module: Module, site: _Site, change: _Change) -> Module:
        editor = Editor(module)
        new, old = change.words(editor), editor.instructions
        return editor.joined([*old[: site.number], *new, *old[site.number + 1 :]])

    def _error(
        self, state: CheckState, base: CheckedRun, run: CheckedRun, changed: Module, further: int
    ) -> str:
        """Return what is wrong in a run and not in that of the unchanged shader; empty for nothing."""
        known = {_identity(event, 0) for event in base.events}
        new = tuple(event for event in run.events if _identity(event, further) not in known)
        if new:
            places = SourceLocations(changed, state.request.title, state.request.sources)
            finding = findings_of([replace(run, events=new)], places, state.dispatch)[0]
            other = [note.place for note in finding.notes if note.place is not None]
            lines = list(dict.fromkeys(place.line for place in (finding.place, *other) if place.line))
            where = f" (line {join(lines)})" if lines else ""
            return f"{finding.kind}: {finding.message}{where}"
        if base.disturbed:
            return ""
        difference = state.compare(base, run)
        if difference is not None:
            return f"{difference.label} is {difference.second} instead of {difference.first}"
        for place, causes in run.causes.items():
            if place in base.causes and np.any((causes > 0) & (base.causes[place] == 0)):
                return "an output depends on the order of atomics"
        return ""


def _identity(event: Event, further: int) -> tuple[object, ...]:
    """Return the identity of an event in a module whose instructions begin later by some words."""
    return event.kind, event.reason, event.memory, event.position - further

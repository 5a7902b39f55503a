"""Barriers and atomics of a shader: which of them its runs need, and where a weaker one is enough.

Each is removed or weakened in a copy of the module, which runs with the inputs, sizes and lanes of the check.
It is needed where an error appears that the shader itself does not have, or where an output becomes another
one or depends on the order of atomics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice

import numpy as np

from vkgroup.base.errors import DispatchTimeout, OutOfMemory, Unsupported
from vkgroup.base.phases import DeadlineReached, phase
from vkgroup.check.barrier_sites import OF_SUBGROUP, REMOVED, BarrierSite, BarrierSites, WeakerForm, marked
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.findings import SourceLocation, SourceLocations, join
from vkgroup.check.report import BarrierResult, BarrierVerdict
from vkgroup.check.runs import CheckedRun
from vkgroup.check.state import CheckState
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor

_BUDGET = 1 << 30
"""Limit of the work of all runs, as in `WorkBudget`: about 20 seconds. Barriers beyond it are left out."""

_MARK, _MOST_WATCHED, _FEW = 3, 16, 4
"""Words of the mark of a barrier; the most workgroups, and invocations of each, whose rounds are counted."""


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

    @property
    def _runs(self) -> list[CheckedRun]:
        return [run for _, runs in self._bases for run in runs]

    def run(self) -> None:
        """Fill `results`: one for each barrier, and for each atomic that could be weaker."""
        sites = list(BarrierSites(self._module))
        executed = {position for run in self._runs for position in run.executed}
        left_out = ""
        for site in sites:
            place = self.states[0].places[site.position]
            reason = left_out
            if not self._bases:
                reason = "no run of the shader ended without a hang"
            elif site.position not in executed:
                reason = "it was not executed"
            if not reason:
                try:
                    with phase(f"weakening the {site.name} in line {place.line}"):
                        self._add(self._result(site, place))
                    continue
                except _BudgetSpent:
                    reason = "the limit of work is reached; give fewer sizes or groups"
                except (DispatchTimeout, OutOfMemory, Unsupported) as error:
                    reason = str(error)
                except DeadlineReached:
                    self.states[0].note_deadline(verdict=True)
                    reason = left_out = "the time limit is reached; give more (--timeout)"
            self._add(BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, f"not tried: {reason}"))

    def _add(self, result: BarrierResult) -> None:
        """Add a result, or combine it with that of another such instruction in its line."""
        key = (*result.place.identity, result.name)
        for number, known in enumerate(self.results):
            if (*known.place.identity, known.name) == key:
                self.results[number] = _together(known, result)
                return
        self.results.append(result)

    def _result(self, site: BarrierSite, place: SourceLocation) -> BarrierResult:
        """Return the result of one barrier or atomic."""
        weakest: _Outcome | None = None
        sufficient, partly = "", None
        for change in site.changes:
            outcome = self._outcome(site, change)
            weakest = weakest or outcome
            if not outcome.errors:
                text = "the runs of the shader itself have errors: correct them first"
                return BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, text)
            if not outcome.wrong:
                if change.text == REMOVED:
                    return self._unneeded(site, place)
                sufficient = change.text
                break
            wrong, right = outcome.wrong, outcome.right
            if change.text in (REMOVED, OF_SUBGROUP) and right and max(wrong) < min(right):
                partly = partly or (change.text, outcome)
        assert weakest is not None
        verdict, text, shown = BarrierVerdict.NEEDED, "needed", weakest
        doubt = self._doubt(site) if sufficient or partly is not None else ""
        if sufficient:
            verdict, text = BarrierVerdict.WEAKER, f"{sufficient} is enough for this {site.name}"
            if doubt:
                verdict, text = BarrierVerdict.UNDECIDED, f"in these runs {text}, but {doubt}"
        elif partly is not None:
            left, shown = partly
            verdict = BarrierVerdict.SMALLER
            text = f"needed only at subgroup sizes smaller than {min(shown.right)}"
            text += f"; from there {left} is enough, if subgroups are full" if left else ""
            text = f"in these runs {text}, but {doubt}" if doubt else text
        errors = {size: shown.errors[size] for size in shown.wrong}
        error = next(iter(errors.values()), "")
        return BarrierResult(place, site.name, verdict, text, tuple(errors), error)

    def _unneeded(self, site: BarrierSite, place: SourceLocation) -> BarrierResult:
        """Return the result of a barrier or atomic without which no run shows an error."""
        if site.name == "atomic":
            text = (
                "a plain access is enough in these runs: give inputs with which invocations use one element"
            )
            return BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, text)
        text = f"no run needs this {site.name}"
        if doubt := self._doubt(site):
            return BarrierResult(place, site.name, BarrierVerdict.UNDECIDED, f"{text}, but {doubt}")
        return BarrierResult(place, site.name, BarrierVerdict.UNNEEDED, text)

    def _doubt(self, site: BarrierSite) -> str:
        """Return why runs that do not need something do not show that it is not needed; empty for nothing."""
        if self.not_executed:
            return f"they do not execute {', '.join(self.not_executed)}: give inputs with which they do"
        # What is missing between atomics shows only in what they return.
        every = (causes for run in self._runs for causes in run.causes.values())
        if site.name != "atomic" and any(np.any((causes > 0) & (causes < HARD)) for causes in every):
            return "some numbers of the outputs depend on the order of atomics, and are not compared"
        state = self.states[0]
        if (
            state.counted.is_in_loop(site.position)
            and max(self._rounds(site, *base) for base in self._bases) < 2
        ):
            return "the loop around it has only one round: give inputs with which it has more"
        return ""

    def _rounds(self, site: BarrierSite, state: CheckState, runs: Sequence[CheckedRun]) -> int:
        """Return how often an invocation executes a barrier or atomic at most, of a few invocations."""
        where = runs[-1].configuration
        # The trace shows no barriers of execution, so there is an instruction without effect before it.
        module = self._changed(state.dispatch.program.module, site, WeakerForm("", partial(marked, site)))
        position = site.position + module.words.size - state.dispatch.program.module.words.size - _MARK
        groups = islice(np.ndindex(*state.dispatch.groups), _MOST_WATCHED)
        first = [who.local for who in state.dispatch.example_invocations(where, _FEW)]
        watched = {((x, y, z), local) for x, y, z in groups for local in first}
        outcome = state.dispatch.execute(
            where,
            state.dispatch.inputs.resources(),
            watch=watched,
            program=state.dispatch.remade(module),
        )
        counts = [sum(each.position == position for each in trace) for trace in outcome.trace.values()]
        return max(counts, default=0)

    def _outcome(self, site: BarrierSite, change: WeakerForm) -> _Outcome:
        """Run a changed shader at all sizes with all inputs."""
        outcome = _Outcome()
        for state, runs in self._bases:
            changed = self._changed(state.dispatch.program.module, site, change)
            further = changed.words.size - state.dispatch.program.module.words.size
            program = state.dispatch.remade(changed)
            for base in runs:
                size = base.configuration.subgroup_size
                if outcome.errors.get(size):
                    continue
                if self.work > _BUDGET:
                    raise _BudgetSpent
                try:
                    run = state.dispatch.run(base.configuration, program=program)
                except DispatchTimeout:
                    outcome.errors[size] = "it does not end"
                    continue
                self.work += run.work
                error = self._error(state, base, run, changed, further)
                # Outputs after an error of the shader itself show nothing.
                if error or not base.disturbed:
                    outcome.errors[size] = error
        return outcome

    def _changed(self, module: Module, site: BarrierSite, change: WeakerForm) -> Module:
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


def _together(one: BarrierResult, other: BarrierResult) -> BarrierResult:
    """Return the result of a line with two such instructions, from a function that was inlined or a macro."""
    strongest = min((one, other), key=lambda result: list(BarrierVerdict).index(result.verdict))
    if strongest.verdict != BarrierVerdict.UNNEEDED:
        return strongest
    text = f"no run needs one of them, but there are several in this line, and each {one.name} is tried alone"
    return replace(strongest, verdict=BarrierVerdict.UNDECIDED, text=text)


def _identity(event: Event, further: int) -> tuple[object, ...]:
    """Return the identity of an event in a module whose instructions begin later by some words."""
    other = event.other_position - further if event.other_position >= 0 else -1
    return event.kind, event.reason, event.memory, event.message, event.position - further, other

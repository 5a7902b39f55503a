"""Separation of the errors of a check into findings and questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from vkgroup.check.contents import partial_count
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.fields import member_names
from vkgroup.check.findings import Finding, FindingKind, RunParameters, SourceLocations
from vkgroup.check.inputs import GeneratedNumber, Input
from vkgroup.check.report import LENGTH, GeneratedValue, Question
from vkgroup.check.runs import CheckedRun
from vkgroup.check.search import TrialSearch
from vkgroup.check.trial_set import differing, options_of
from vkgroup.check.trials import WORK_LIMIT, CheckTrial, EventKey, key_of, usual_run
from vkgroup.reference.events import Event
from vkgroup.spirv import StructType

_MOST_RERUNS = 4
"""Maximum number of other inputs that are tried for an event at a size other than that of the trials."""

_WORK = 12 * WORK_LIMIT
"""Limit of the work of these runs, as in `WorkBudget`. After it the decision at another size is taken."""

_LEAST_INVOCATIONS = 64
_NEAR = 8
"""An array is asked for if a shader exceeds its generated length by at most this part of the invocations."""


@dataclass(frozen=True)
class _Doubt:
    """An event that becomes a part of a question."""

    event: Event
    configuration: RunParameters
    values: tuple[GeneratedValue, ...]
    tried: bool = False  # whether the values ran at this size only


class Questions:
    """Separates the events of a check into errors and questions.

    `search`: the trials. `chosen`: the trial whose inputs the check uses.
    """

    def __init__(self, search: TrialSearch, chosen: CheckTrial) -> None:
        self._search, self._chosen = search, chosen
        self._doubts: list[_Doubt] = []
        self._guessed = False
        self._decisions: dict[tuple[EventKey, int], _Doubt | None] = {}
        self._reruns: dict[tuple[int, RunParameters], tuple[CheckTrial, CheckedRun | None]] = {}
        self._work = 0
        #: For each event the trials that were without it at some size.
        self._without: dict[EventKey, list[CheckTrial]] = {}

    def errors_of(self, runs: Sequence[CheckedRun]) -> list[CheckedRun]:
        """Return the runs with errors only; their other events become questions."""
        result = []
        for run in runs:
            doubtful = {key_of(event): doubt for event in run.events if (doubt := self._decided(event, run))}
            self._doubts += doubtful.values()
            result.append(replace(run, events=tuple(e for e in run.events if key_of(e) not in doubtful)))
        known = {key_of(event) for run in result for event in run.events}
        for doubt in self._of_first():
            if key_of(doubt.event) not in known and doubt.values:
                self._doubts.append(doubt)
        known |= {key_of(doubt.event) for doubt in self._doubts}
        for trial, doubt in self._of_trials():
            if key_of(doubt.event) in known:
                continue
            known.add(key_of(doubt.event))
            is_certain = _is_divergent(doubt.event) and trial not in self._search.further
            if not is_certain or next(self._trials_without(doubt.event), None) is not None:
                self._doubts.append(doubt)
            else:
                where = replace(doubt.configuration, options=options_of(self._chosen, trial))
                result.append(CheckedRun(where, events=(doubt.event,)))
        return result

    def _decided(self, event: Event, run: CheckedRun) -> _Doubt | None:
        """Return the part of a question for an event; it is the same for all orders of lanes."""
        key = key_of(event), run.configuration.subgroup_size
        if key not in self._decisions:
            self._decisions[key] = self._doubt(event, run)
        doubt = self._decisions[key]
        return replace(doubt, event=event, configuration=run.configuration) if doubt is not None else None

    def _doubt(self, event: Event, run: CheckedRun) -> _Doubt | None:
        """Return the part of a question for an event; None if the event is an error."""
        where = run.configuration
        if length := self._length(event):
            return _Doubt(event, where, (length,))
        known = self._without.setdefault(key_of(event), [])
        tried = {id(trial) for trial in known}
        # What removed an event at one size is tried first at the next.
        for trial in chain(known, (each for each in self._trials_without(event) if id(each) not in tried)):
            fitted = trial
            if where == usual_run(self._chosen.dispatch):
                values = self._values(event, self._chosen, trial)
            elif (rerun := self._rerun(trial, where)) is not None:
                fitted, run = rerun
                if not run.ended or key_of(event) in map(key_of, run.events):
                    continue
                values = generated_values(differing(self._chosen, fitted))
            elif id(trial) in tried:
                values = generated_values(differing(self._chosen, trial))
            else:
                continue
            bindings = zip(
                self._chosen.dispatch.inputs.bindings, fitted.dispatch.inputs.bindings, strict=True
            )
            lengths = ((entry, entry.elements, other.elements) for entry, other in bindings)
            if values := values or tuple(_length(*each) for each in lengths if each[1] < each[2]):
                if id(trial) not in tried:
                    known.append(trial)
                return _Doubt(event, where, values)
        return None

    def _trials_without(self, event: Event) -> Iterator[CheckTrial]:
        """Yield trials without an event: with other generated values, then with other constants."""
        search = self._search
        if search.depends(event):
            for numbers in search.apart(event, self._chosen):
                search.try_({**self._chosen.numbers, **numbers})
            if not self._guessed and len(search.trials) == 1:
                self._guessed = True
                for numbers in search.guessed():
                    search.try_(numbers)
            yield from islice(search.without(event), _MOST_RERUNS)
        yield from islice(search.with_other_constants(event), _MOST_RERUNS)

    def _rerun(self, trial: CheckTrial, where: RunParameters) -> tuple[CheckTrial, CheckedRun] | None:
        """Return a trial with arrays long enough for a configuration, and its run there.

        None if there is no memory for it, or the limit of the work is reached.
        """
        key = (id(trial), where)
        if key not in self._reruns:
            if self._work > _WORK:
                return None
            trier = self._search.trier
            before = trier.work
            self._reruns[key] = trier.run_fitted(trial, where)
            self._work += trier.work - before
        fitted, run = self._reruns[key]
        return None if run is None else (fitted, run)

    def _values(self, event: Event, first: CheckTrial, other: CheckTrial) -> tuple[GeneratedValue, ...]:
        """Return the values of a trial without which an event does not occur: a single one if possible.

        `other`: a trial without the event.
        """
        changes = differing(first, other)
        for change in changes:
            trial = self._search.try_({**first.numbers, change[0].key: change[1]})
            if trial.run is not None and key_of(event) not in trial.events:
                return generated_values([change])
        return generated_values(changes)

    def _length(self, event: Event) -> GeneratedValue | None:
        """Return the generated length of the array that an event exceeds; None if it is another event."""
        if event.kind != "bounds":
            return None
        for entry in self._chosen.dispatch.inputs.bindings:
            block = entry.binding.type
            if entry.name != event.memory or not entry.grows or not isinstance(block, StructType):
                continue
            last = block.runtime_array
            stride = getattr(last.type, "stride", 0) if last is not None else 0
            if last is None or not stride or event.offset < 0:
                return None
            needed = (event.offset - (last.offset or 0)) // stride + 1
            if needed <= 2 * max(entry.elements, self._search.trier.invocations):
                return _length(entry, entry.elements, needed)
        return None

    def _of_trials(self) -> Iterator[tuple[CheckTrial, _Doubt]]:
        """Yield the errors of other trials that only the control flow decides: no address was made up."""
        search, where = self._search, usual_run(self._chosen.dispatch)
        for trial in search.further:
            for event in filter(_is_divergent, trial.events.values()):
                yield trial, _Doubt(event, where, generated_values(differing(trial, self._chosen)))
        for trial in tuple(search.trials):
            changes = differing(trial, self._chosen)
            # Another local size, or another constant of the pipeline, makes another shader.
            is_other = trial is not search.first and any(
                number.constant_id is not None for number, _ in changes
            )
            for event in search.errors(trial).values() if changes and not is_other else ():
                if search.sources(event) is None:
                    is_first = trial is search.first
                    values = self._values_of_first(event) if is_first else generated_values(changes)
                    yield trial, _Doubt(event, where, values)

    def _of_first(self) -> Iterator[_Doubt]:
        """Yield the errors with the default values if others were chosen, else those near ends of arrays."""
        search, first = self._search, self._search.first
        where = usual_run(first.dispatch)
        if first is not search.best:
            for event in search.errors(first).values():
                if event.kind != FindingKind.SAME_VALUE and search.sources(event) is not None:
                    yield _Doubt(event, where, self._values_of_first(event), tried=True)
            return
        if not (lengths := near_lengths(search)):
            return
        elements = {**first.elements, **{place: length for place, (length, _) in lengths.items()}}
        dispatch = replace(first.dispatch, inputs=search.trier.inputs(first.dispatch, elements, {}))
        names = {entry.name: entry for entry in dispatch.inputs.bindings if entry.place in lengths}
        for event in dispatch.run(where).events:
            if event.kind == FindingKind.BOUNDS and event.memory in names:
                entry = names[event.memory]
                yield _Doubt(event, where, (_length(entry, *lengths[entry.place]),), tried=True)

    def _values_of_first(self, event: Event) -> tuple[GeneratedValue, ...]:
        """Return the default values that cause an event which does not occur with the chosen ones."""
        first = self._search.first
        if not first.ended:
            return generated_values(differing(first, self._chosen))
        return self._values(event, first, self._chosen)

    def collect(self, places: SourceLocations) -> tuple[Question, ...]:
        """Return the questions: one for all errors of a line, and one for all lines with the same values."""
        by_place: dict[tuple[object, ...], list[_Doubt]] = {}
        for doubt in self._doubts:
            if doubt.values and (found := self._findings((doubt,), places)):
                by_place.setdefault(found[0].place.identity, []).append(doubt)
        by_values: dict[tuple[GeneratedValue, ...], list[_Doubt]] = {}
        for doubts in by_place.values():
            agreeing, values = _agreeing(doubts)
            by_values.setdefault(values, []).extend(agreeing)
        return tuple(
            Question(values, tuple(self._findings(doubts, places)), all(doubt.tried for doubt in doubts))
            for values, doubts in by_values.items()
        )

    def _findings(self, doubts: Iterable[_Doubt], places: SourceLocations) -> list[Finding]:
        runs = [CheckedRun(doubt.configuration, events=(doubt.event,)) for doubt in doubts]
        return findings_of(runs, places, self._chosen.dispatch)


def _is_divergent(event: Event) -> bool:
    """Whether an event occurs because invocations are on different paths."""
    return event.reason in ("barrier", "inactive_lane", "quad", "not_uniform")


def _agreeing(doubts: Sequence[_Doubt]) -> tuple[list[_Doubt], tuple[GeneratedValue, ...]]:
    """Return the errors that all occur with the same values, beginning with the first one, and the values.

    An array needs the largest length that any of the errors needs.
    """
    values: dict[str, GeneratedValue] = {}
    agreeing = []
    for doubt in doubts:
        if all(values.get(entry.name, entry).value == entry.value for entry in doubt.values):
            agreeing.append(doubt)
            for entry in doubt.values:
                known = values.setdefault(entry.name, entry)
                if entry.is_length and int(known.other) < int(entry.other):
                    values[entry.name] = entry
    return agreeing, tuple(values.values())


def _length(entry: Input, length: int, needed: int) -> GeneratedValue:
    """Return the length of a runtime array as a generated value."""
    block = entry.binding.type
    assert isinstance(block, StructType)
    return GeneratedValue(
        f"{member_names(block, entry.binding.name)[-1]}{LENGTH}", length, needed, f"--in {entry.name}=FILE"
    )


def generated_values(changes: Iterable[tuple[GeneratedNumber, int]]) -> tuple[GeneratedValue, ...]:
    """Return the values of generated integers, each with another one."""
    return tuple(
        GeneratedValue(
            number.name, number.shown(number.value), number.shown(other), number.option, number.is_default
        )
        for number, other in changes
    )


def near_lengths(search: TrialSearch) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the arrays that the shader exceeds by little, each with a short length and the needed one.

    The short length is a multiple of the number of invocations, as an author would choose it. An array whose
    length the shader asks for had slightly fewer elements before it grew.
    """
    total = search.trier.invocations
    lengths = {}
    for place, needed in search.first.needed.items():
        if needed < total:  # without a guard it would be the number of invocations
            lengths[place] = (partial_count(total), search.first.elements[place])
            continue
        length = max(1, round(needed / total)) * total
        if total >= _LEAST_INVOCATIONS and 0 < (needed - length) * _NEAR <= total:
            lengths[place] = (length, needed)
    return lengths

"""Equality of two compute shaders, or of one at two subgroup sizes: same inputs, and all outputs compared."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DispatchTimeout, InvalidInput, Unsupported
from vkgroup.base.phases import phase
from vkgroup.check.checking import PreparedShader, chosen_groups, prepare
from vkgroup.check.comparison import (
    Allowed,
    Difference,
    Tolerance,
    causes_in,
    compare,
    count_numbers,
    numbers_of,
    places_of,
)
from vkgroup.check.configured import find_binding
from vkgroup.check.diagnosis import difference_findings, findings_of
from vkgroup.check.divergence import atomic_writers, writer_of
from vkgroup.check.equal_trials import Groups, missing_in_second, trials_by_other
from vkgroup.check.findings import Finding, FindingKind, Note, RunParameters, SourceLocations
from vkgroup.check.flow import DataFlow
from vkgroup.check.inputs import Key
from vkgroup.check.interfaces import interface_differences
from vkgroup.check.report import lines_of_sites
from vkgroup.check.request import CheckRequest, values_of
from vkgroup.check.rounding import tolerance_of
from vkgroup.check.runs import CheckedDispatch, CheckedRun, Place
from vkgroup.check.trials import CheckTrial
from vkgroup.check.unordered import is_list, unordered_differences
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.values.value import HARD


@dataclass(frozen=True)
class Equality:
    """The result of comparing two shaders.

    Attributes
    ----------
    names : their names.
    sizes : pairs of subgroup sizes at which they ran.
    groups : the workgroups of the dispatches that were compared.
    interface : differences of their interfaces; if there are some, nothing ran.
    difference : the first difference; None if all outputs are equal.
    no_verdict : why nothing could be compared; empty if it could.
    counts : numbers of the outputs: ``"compared"``, ``"undefined"``, ``"ordered"``, ``"rounded"``, and those
        that are ``"undefined in one"`` of the shaders.
    inputs, not_executed : as in `Coverage`, of the first shader.
    not_executed_in_second : the same of the second, if that is another one.
    """

    names: tuple[str, str]
    sizes: tuple[tuple[int, int], ...]
    interface: tuple[str, ...] = ()
    difference: Finding | None = None
    no_verdict: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    not_executed: tuple[str, ...] = ()
    not_executed_in_second: tuple[str, ...] = ()
    groups: tuple[Groups, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        known = {"difference": self.difference.to_json() if self.difference is not None else None}
        return {**dataclasses.asdict(replace(self, difference=None)), **known}


def compare_shaders(
    first: CheckRequest,
    second: CheckRequest | None,
    sizes: Sequence[tuple[int, int]],
    unordered: Sequence[Key] = (),
) -> Equality:
    """Compare the outputs of two compute shaders, or of one with itself.

    Parameters
    ----------
    first : a shader with its inputs; the rest is generated.
    second : the other shader, whose inputs are those of the first; None for the same shader.
    sizes : pairs of subgroup sizes, of the first and of the second shader.
    unordered : bindings whose elements are compared in any order.

    Raises InvalidInput, InvalidDispatch, InvalidModule, Unsupported as `vkgroup.check.check`.
    """
    other = second or first
    names = (first.title, other.title)
    for request in (first, other):
        if request.entry.stage != "compute":
            raise InvalidInput(
                f"{request.title} is a {request.entry.stage} shader; equal compares compute shaders."
            )
    loose = frozenset(find_binding(first.module, key, "--unordered").place for key in unordered)
    if problems := interface_differences(first.module, other.module):
        return Equality(names, tuple(sizes), tuple(problems))
    comparison = _Comparison(first, other, loose)
    shapes: list[Groups | None] = [None]
    if second is not None and first.groups is None:
        shapes = list(dict.fromkeys(chosen_groups(request.module) for request in (first, second)))
    for shape in shapes:
        comparison.compare_all(shape, sizes, is_last=shape == shapes[-1])
        if comparison.difference is not None or comparison.no_verdict:
            break
    return comparison.result(names)


@dataclass
class _Comparison:
    """The comparison of two shaders with several inputs and sizes."""

    first: CheckRequest
    second: CheckRequest  # the same object if a shader is compared with itself
    unordered: Collection[tuple[int, int]]
    counts: Counter[str] = field(default_factory=Counter)
    #: `runs`, `other_runs`: of the first and of the second shader, with the same inputs.
    runs: list[CheckedRun] = field(default_factory=list)
    other_runs: list[CheckedRun] = field(default_factory=list)
    difference: Finding | None = None
    no_verdict: str = ""
    both_wrong: bool = False  # whether there is no verdict because both shaders have errors
    groups: list[Groups] = field(default_factory=list)  # workgroups that were compared
    #: `prepared`, `last`: the inputs of the last comparison, and those of its last runs.
    prepared: PreparedShader = field(init=False)
    last: CheckTrial = field(init=False)

    @property
    def are_two(self) -> bool:
        """Whether there are two shaders."""
        return self.first is not self.second

    def compare_all(self, groups: Groups | None, sizes: Sequence[tuple[int, int]], *, is_last: bool) -> None:
        """Compare the shaders with one number of workgroups, None for the default, and several inputs.

        If both have errors with workgroups that were only chosen, others decide.
        """
        self.prepared = prepare(self.first, groups)
        trials = [self.prepared.trial, *self.prepared.search.supplements()]
        if self.are_two:
            trials += trials_by_other(self.first, self.second, self.prepared.search, groups)
        # The other shader has its own defaults.
        defaults = {entry.id: entry.value for entry in values_of(self.first.module)}
        given = self.first.specialization.keys()
        before = len(self.runs)
        for trial, pair in product(trials, sizes):
            changed = {
                entry.id: entry.value
                for entry in values_of(trial.dispatch.program.module)
                if entry.value != defaults.get(entry.id) or {entry.id, entry.name} & given
            }
            program = self.other_program(trial, changed) if self.are_two else None
            with phase(f"executing on the reference device at size {pair[0]} and {pair[1]}"):
                self.compare(trial, program, pair)
            self.last = trial
            if self.difference is not None or self.no_verdict:
                break
        if self.both_wrong and (self.groups or not is_last):
            del self.runs[before:], self.other_runs[before:]
            self.no_verdict, self.both_wrong = "", False
        else:
            self.groups.append(self.prepared.search.trier.dispatch.groups)

    def result(self, names: tuple[str, str]) -> Equality:
        """Return the result of all comparisons."""
        if self.difference is None and not self.no_verdict and not self.counts["compared"]:
            self.no_verdict = "no number of the outputs could be compared"
        stopped = self.difference is not None or bool(self.no_verdict)
        missing: list[tuple[str, ...]] = [(), ()]
        if not stopped:  # else the rest of the inputs did not run
            search, places = self.prepared.search, _places(self.first)
            missing[0] = lines_of_sites(self.runs, search.missing_in, places)
            if self.are_two:
                missing_in = missing_in_second(self.second, search)
                missing[1] = lines_of_sites(self.other_runs, missing_in, _places(self.second))
        pairs = zip(self.runs, self.other_runs, strict=True)
        sizes = [tuple(run.configuration.subgroup_size for run in pair) for pair in pairs]
        return Equality(
            names,
            tuple(dict.fromkeys((one, two) for one, two in sizes)),
            (),
            self.difference,
            self.no_verdict,
            dict(self.counts),
            self.last.dispatch.inputs.origins,
            missing[0],
            missing[1],
            tuple(self.groups),
        )

    def other_program(self, trial: CheckTrial, specialization: dict[int, Any]) -> ExecutableShader:
        """Return the second shader with those specialization constants of the first that it has.

        Raises InvalidInput if its local size is another one.
        """
        constants = self.second.module.reflection.specialization_constants
        known = {entry.id for entry in constants}
        given: dict[int | str, Any] = {key: value for key, value in specialization.items() if key in known}
        program = ExecutableShader(
            self.second.module, self.second.entry_point, pack_specialization(constants, given)[0]
        )
        size = trial.dispatch.program.local_size
        if program.local_size != size:
            raise InvalidInput(
                f"The local size is {size} in {self.first.title} and {program.local_size} in"
                f" {self.second.title}: these are other dispatches."
            )
        return program

    def _dispatches(
        self, trial: CheckTrial, program: ExecutableShader | None, sizes: tuple[int, int]
    ) -> tuple[CheckedDispatch, CheckedDispatch]:
        """Return the dispatches of both shaders with the same inputs, whose arrays are long enough."""
        trier = self.prepared.search.trier
        fitted = trier.fit(trial, RunParameters(sizes[0]))
        own = fitted.dispatch
        other = replace(own, program=program or own.program)
        theirs = trier.fit(replace(fitted, dispatch=other), RunParameters(sizes[1]))
        inputs = trier.inputs(own, theirs.elements, trial.numbers, theirs.dispatch.inputs.extents)
        written = {entry.place for entry in self.second.module.reflection.bindings if entry.writable}
        bindings = tuple(
            replace(entry, binding=replace(entry.binding, writable=True)) if entry.place in written else entry
            for entry in inputs.bindings
        )
        inputs = replace(inputs, bindings=bindings)
        return replace(own, inputs=inputs), replace(other, inputs=inputs)

    def compare(self, trial: CheckTrial, program: ExecutableShader | None, sizes: tuple[int, int]) -> None:
        """Run both shaders at two sizes, and compare their outputs."""
        dispatches = self._dispatches(trial, program, sizes)
        runs = []
        for request, dispatch, size in zip((self.first, self.second), dispatches, sizes, strict=True):
            try:
                runs.append(dispatch.run(RunParameters(size)))
            except DispatchTimeout:
                self.no_verdict = f"{request.title} does not end within {dispatch.timeout:g} s at size {size}"
                return
            except Unsupported as error:
                raise Unsupported(f"{request.title} at size {size}: {error}", error.missing) from error
        first, second = runs
        self.runs.append(first)
        self.other_runs.append(second)
        try:
            self._compare(dispatches, first, second)
        except DispatchTimeout:
            self.no_verdict = "a run that finds the rounding or the writer of a number does not end"

    def _compare(
        self, dispatches: tuple[CheckedDispatch, CheckedDispatch], first: CheckedRun, second: CheckedRun
    ) -> None:
        """Compare the outputs of two runs."""
        runs = (first, second)
        if first.disturbed or second.disturbed:
            self._note_errors(dispatches, first, second)
            return
        one, two = (self._ordered(dispatches[0], run) for run in runs)
        found = compare(dispatches[0].inputs, one, two)
        loose = list(self._loose(dispatches[0], first, second, {}))
        tolerance: Tolerance = {}
        if (found or loose) and any(dispatch.has_floats for dispatch in dispatches):
            tolerance = _sum(*(tolerance_of(*pair) for pair in zip(dispatches, runs, strict=True)))
            found = compare(dispatches[0].inputs, one, two, tolerance)
            loose = list(self._loose(dispatches[0], first, second, tolerance))
        self._count(dispatches[0], first, second, tolerance)
        if (difference := found or next(iter(loose), None)) is not None:
            self.difference = self._finding(dispatches, runs, difference)

    def _loose(
        self, dispatch: CheckedDispatch, first: CheckedRun, second: CheckedRun, tolerance: Tolerance
    ) -> Iterator[Difference]:
        """Yield the differences of outputs whose elements are compared in any order."""
        for place, entry in places_of(dispatch.inputs, first):
            if self._is_loose(place) and place in second.outputs:
                yield from unordered_differences(place, entry, first, second, tolerance)

    def _count(
        self, dispatch: CheckedDispatch, first: CheckedRun, second: CheckedRun, tolerance: Tolerance
    ) -> None:
        """Count the numbers of the outputs, as `Coverage` does; an order that does not count is no reason."""
        runs = [
            replace(run, causes={place: self._without_order(place, run) for place in run.causes})
            for run in (first, second)
        ]
        self.counts.update(count_numbers(dispatch.inputs, runs[0], runs[1:], tolerance))
        for place, entry in places_of(dispatch.inputs, first):
            for part, _ in numbers_of(entry, first.outputs[place], place[2]):
                undefined = [causes_in([run], place, part) >= HARD for run in runs]
                self.counts["undefined in one"] += int(np.count_nonzero(undefined[0] != undefined[1]))

    def _without_order(self, place: Place, run: CheckedRun) -> npt.NDArray[np.uint16]:
        causes = run.causes[place]
        return np.where(causes >= HARD, causes, 0) if self._is_loose(place) else causes

    def _ordered(self, dispatch: CheckedDispatch, run: CheckedRun) -> CheckedRun:
        """Return a run whose lists in any order are not compared."""
        causes = dict(run.causes)
        for place, entry in places_of(dispatch.inputs, run):
            for part, _ in numbers_of(entry, run.outputs[place], place[2]) if self._is_loose(place) else ():
                if is_list(entry, part.member):
                    causes[place] = causes[place].copy()
                    causes[place][part.offsets[..., None] + np.arange(part.dtype.itemsize)] = HARD
        return replace(run, causes=causes)

    def _is_loose(self, place: Place) -> bool:
        return place[:2] in self.unordered

    def _note_errors(
        self, dispatches: Sequence[CheckedDispatch], first: CheckedRun, second: CheckedRun
    ) -> None:
        """Note the error of the only shader that has one, or that both have some."""
        findings = []
        for request, dispatch, run in zip(
            (self.first, self.second), dispatches, (first, second), strict=True
        ):
            places = SourceLocations(dispatch.program.module, request.title, request.sources)
            found = findings_of([run], places, dispatch) if run.disturbed else []
            where = request.title if self.first is not self.second else str(run.configuration)
            findings += [
                replace(entry, message=f"only {where} has this error: {entry.message}") for entry in found[:1]
            ]
        if len(findings) == 1:
            self.difference = findings[0]
        else:
            self.no_verdict = f"both have errors that make their outputs meaningless: {findings[0].kind}"
            self.both_wrong = True

    def _finding(
        self, dispatches: Sequence[CheckedDispatch], runs: Sequence[CheckedRun], difference: Difference
    ) -> Finding:
        """Return the finding on the first difference, with the lines that wrote both values."""
        requests, places, who = (self.first, self.second), [], None
        if self.first is self.second:
            module = dispatches[0].program.module
            place = SourceLocations(module, self.first.title, self.first.sources)
            differing = [(runs[0], runs[1], difference)]
            return difference_findings(differing, dispatches[0], DataFlow(module), place)[0]
        for request, dispatch, run in zip(requests, dispatches, runs, strict=True):
            writer = writer_of(dispatch, run.configuration, difference.place, difference.offset)
            writer = writer or next(iter(atomic_writers(dispatch, run.configuration, difference)), None)
            position = writer[1] if writer is not None else -1
            places.append(SourceLocations(dispatch.program.module, request.title, request.sources)[position])
            who = who or (writer[0] if writer is not None else None)
        values = (difference.first, difference.second)
        told = [
            f"{value} in {request.title} at size {run.configuration.subgroup_size}"
            for value, request, run in zip(values, requests, runs, strict=True)
        ]
        more = f"; {difference.count} numbers differ" if difference.count > 1 else ""
        notes = [
            Note("it is written here in the other", place) for place in places[1:] if place.position >= 0
        ]
        return Finding(
            FindingKind.DIFFERS,
            f"{difference.label} is {told[0]}, and {told[1]}{more}",
            places[0],
            tuple(notes),
            who,
            tuple(run.configuration for run in runs),
        )


def _sum(first: Tolerance, second: Tolerance) -> Tolerance:
    """Return the tolerance of results that may both be rounded: there is a value that both may have."""
    nothing = Allowed(np.zeros(()))
    return {
        key: Allowed(allowed.difference + second.get(key, nothing).difference, allowed.alternatives)
        for key, allowed in first.items()
    }


def _places(request: CheckRequest) -> SourceLocations:
    return SourceLocations(request.module, request.title, request.sources)

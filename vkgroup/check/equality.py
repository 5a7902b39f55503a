"""Equality of two compute shaders, or of one at two subgroup sizes: same inputs, and all outputs compared."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DispatchTimeout, InvalidInput, Unsupported
from vkgroup.base.phases import phase
from vkgroup.check.checking import prepare
from vkgroup.check.configured import find_binding
from vkgroup.check.diagnosis import difference_findings, findings_of
from vkgroup.check.divergence import atomic_writers, writer_of
from vkgroup.check.equal_trials import trials_by_other
from vkgroup.check.findings import Finding, FindingKind, Note, RunParameters, SourceLocations
from vkgroup.check.flow import DataFlow
from vkgroup.check.influence import UNKNOWN, Sites, Source, influence_of
from vkgroup.check.inputs import Key
from vkgroup.check.interfaces import interface_differences
from vkgroup.check.report import lines_of_sites
from vkgroup.check.request import CheckRequest, values_of
from vkgroup.check.rounding import tolerance_of
from vkgroup.check.runs import (
    Allowed,
    CheckedDispatch,
    CheckedRun,
    Difference,
    Place,
    Tolerance,
    causes_in,
    compare,
    count_numbers,
    numbers_of,
    places_of,
)
from vkgroup.check.trial_set import TrialSet, identities
from vkgroup.check.trials import CheckTrial, Trier
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
    prepared = prepare(first)
    comparison = _Comparison(first, other, prepared.search.trier, loose)
    compared = prepared.trial
    # The other shader has its own defaults.
    defaults = {entry.id: entry.value for entry in values_of(first.module)}
    trials = [prepared.trial, *prepared.search.supplements()]
    if second is not None:
        trials += trials_by_other(first, second, prepared.search)
    for trial, pair in product(trials, sizes):
        changed = {
            entry.id: entry.value
            for entry in values_of(trial.dispatch.program.module)
            if entry.value != defaults.get(entry.id) or {entry.id, entry.name} & first.specialization.keys()
        }
        program = comparison.other_program(trial, changed) if second is not None else None
        with phase(f"executing on the reference device at size {pair[0]} and {pair[1]}"):
            comparison.compare(trial, program, pair)
        if comparison.difference is not None or comparison.no_verdict:
            compared = trial
            break
    if comparison.difference is None and not comparison.no_verdict and not comparison.counts["compared"]:
        comparison.no_verdict = "no number of the outputs could be compared"
    places = [SourceLocations(one.module, one.title, one.sources) for one in (first, other)]
    missing = [lines_of_sites(comparison.runs, prepared.search.missing_in, places[0])]
    if second is not None:
        missing_in = _missing_in_second(second, prepared.search)
        missing.append(lines_of_sites(comparison.other_runs, missing_in, places[1]))
    return Equality(
        names,
        tuple(sizes),
        (),
        comparison.difference,
        comparison.no_verdict,
        dict(comparison.counts),
        compared.dispatch.inputs.origins,
        *missing,
    )


def _missing_in_second(
    request: CheckRequest, search: TrialSet
) -> Callable[[Mapping[int, int]], frozenset[int]]:
    """Return `TrialSet.missing_in` of another shader, whose inputs are those of the first one's trials."""
    influence = influence_of(request.module)
    first = {what: identifier for identifier, what in identities(search.module, search.influence).items()}
    own = identities(request.module, influence)

    def is_fixed(source: Source) -> bool:
        variable, member = source
        if source == UNKNOWN or variable not in own:
            return search.is_fixed(UNKNOWN)
        if own[variable] in first:
            return search.is_fixed((first[own[variable]], member))
        # A built-in variable or a constant that only this shader has.
        return search.is_fixed_here(influence.built_ins.get(variable, ""))

    sites = Sites(request.module, request.entry)
    return lambda executed: sites.missing(executed, is_fixed)


@dataclass
class _Comparison:
    """The comparison of two shaders with several inputs and sizes."""

    first: CheckRequest
    second: CheckRequest
    trier: Trier
    unordered: Collection[tuple[int, int]]
    counts: Counter[str] = field(default_factory=Counter)
    runs: list[CheckedRun] = field(default_factory=list)  # of the first shader
    other_runs: list[CheckedRun] = field(default_factory=list)
    difference: Finding | None = None
    no_verdict: str = ""

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
        fitted = self.trier.fit(trial, RunParameters(sizes[0]))
        own = fitted.dispatch
        other = replace(own, program=program or own.program)
        theirs = self.trier.fit(replace(fitted, dispatch=other), RunParameters(sizes[1]))
        inputs = self.trier.inputs(own, theirs.elements, trial.numbers, theirs.dispatch.inputs.extents)
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

"""Outcomes of a run: each case's result compared with the expected one; separates flakes from failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vkgroup.base.files import write_whole
from vkgroup.conformance import plan
from vkgroup.conformance.caselist import PROMISES
from vkgroup.conformance.expectations import PLAIN, BaselineLine, ExpectationOutcome, Expectations
from vkgroup.conformance.families import cases_named
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import is_hang
from vkgroup.record.causes import Cause
from vkgroup.record.journal import read_results
from vkgroup.record.record import UNEXECUTED, Result, Status, TakeResults, format_result
from vkgroup.record.run import Run

AGAIN = "reruns.jsonl"
"""The file in a run's folder with the results of cases that were repeated."""

Repeat = Callable[[Sequence[AnyCase], TakeResults], object]
"""Repeats cases, and passes on their results as they arrive."""


@dataclass
class RunOutcomes:
    """A run compared with the expected results."""

    run: Run  # the run
    expectations: Expectations = field(default_factory=Expectations)  # the expected results
    left_out: Collection[str] = ()  # names of the cases excluded by the skips
    #: Second results by case, for cases that were repeated.
    reruns: dict[str, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        broken = self.run.capabilities.minimum_promises()
        promises = [Result(PROMISES, Status.PASS)] if PROMISES in self.expectations.baseline else []
        if broken:
            promises = [Result(PROMISES, Status.FAIL, detail="; ".join(broken))]
        self.results = [*self.run.results, *promises]
        """The first result of every case, and last that of `PROMISES` if it is not a plain pass."""
        self.by_case: dict[str, ExpectationOutcome] = {}
        """Each case's outcome, by name."""
        self._settle()

    def _settle(self) -> None:
        outcomes = {result.case: self._outcome(result) for result in self.results}
        outcomes.update(dict.fromkeys(self.left_out, ExpectationOutcome.SKIP))
        outcomes.update(
            dict.fromkeys([*self.run.missing, *self.run.without_verdict], ExpectationOutcome.MISSING)
        )
        for held in self.run.not_run:
            outcomes.update(dict.fromkeys(held.cases, ExpectationOutcome.SKIP))
        self.by_case = {name: outcomes[name] for name in sorted(outcomes)}

    def _outcome(self, result: Result) -> ExpectationOutcome:
        """Return a case's outcome: a flake if one of its results is expected, and the other is not."""
        first = self.expectations.outcome(result.case, result.status)
        if result.case not in self.reruns:
            return first
        second = self.expectations.outcome(result.case, self.reruns[result.case].status)
        return first if first.expected == second.expected else ExpectationOutcome.FLAKE

    @property
    def unexpected(self) -> dict[str, ExpectationOutcome]:
        """The unexpected outcomes by case, including those of cases that were not reached."""
        return {name: outcome for name, outcome in self.by_case.items() if not outcome.expected}

    @property
    def success(self) -> bool:
        """Whether every outcome is as expected."""
        return all(outcome.expected for outcome in self.by_case.values())

    @property
    def counts(self) -> Counter[ExpectationOutcome]:
        """The number of cases with each outcome."""
        return Counter(self.by_case.values())

    def named(self, *outcomes: ExpectationOutcome) -> list[str]:
        """Return the names of the cases with any of these outcomes."""
        return [name for name, outcome in self.by_case.items() if outcome in outcomes]

    @cached_property
    def causes(self) -> list[Cause]:
        """The causes of all failures of the run, expected ones included; new ones first."""
        return self.run.causes

    @cached_property
    def cause_of(self) -> dict[str, Cause]:
        """The cause of each failed case, by the case's name."""
        return {name: cause for cause in self.causes for name in cause.cases}

    def unexpected_of(self, cause: Cause) -> list[str]:
        """Return the cases of a cause with unexpected outcomes, the simplest first."""
        return [name for name in cause.cases if not self.by_case[name].expected]

    def expected(self, name: str) -> BaselineLine | None:
        """Return the baseline's line for a case or for its Khronos name; None if there is none."""
        return next(iter(self.expectations.lines(name)), None)

    def idle(self) -> list[str]:
        """Return the Khronos names in the baseline whose cases all have a verdict, none of them a failure.

        They do not count as improvements: Khronos' test may find an error that no case here finds.
        """
        if not self.expectations.khronos:
            return []
        results = [*self.results, *self.reruns.values()]
        passing = {result.case for result in results if PLAIN[result.status] is ExpectationOutcome.PASS}
        failing = {result.case for result in results if not PLAIN[result.status].expected}
        judged = {result.case for result in self.results}
        return [
            name
            for name, cases in self.expectations.khronos.items()
            if judged.issuperset(cases) and failing.isdisjoint(cases) and not passing.isdisjoint(cases)
        ]

    def description(self, result: Result) -> str:
        """Return the text for a result: its details, the expectation, and the repeated result."""
        parts = [result.detail]
        expected = self.expected(result.case)
        outcome = self.by_case[result.case]
        if expected is not None and outcome.improved:
            advice = "remove the line" if outcome != ExpectationOutcome.IMPROVED_FAIL else "change it to Fail"
            parts.append(f"{expected.path}:{expected.line} expects {expected.status}: {advice}")
        elif expected is not None and expected.name != result.case and not PLAIN[result.status].expected:
            parts.append(f"{expected.path}:{expected.line} expects {expected.status} of {expected.name}")
        second = self.reruns.get(result.case)
        if second is not None:
            parts.append(f"judged again: {second.status}")
            if PLAIN[result.status].expected:
                parts.append(second.detail)
        return "\n".join(filter(None, parts))

    def rerun(self, repeat: Repeat, shuffle: int | None = None) -> int:
        """Repeat cases with unexpected results once; return the number of repeated cases.

        If `repeat` raises an error, the results before it still count.

        Whole batches are repeated, as deqp-runner repeats whole case lists: a wrong result that depends on
        other cases in the same shader is not a flake.
        """
        names = {
            name
            for name, outcome in self.unexpected.items()
            if outcome != ExpectationOutcome.MISSING and name != PROMISES and name not in self.reruns
        }
        if self.run.capabilities.is_gpu:
            # A case that hung would hang the GPU again.
            names -= {result.case for result in self.run.results if is_hang(result)}
        if not names:
            return 0
        executed = [r.case for r in self.run.results if r.status not in UNEXECUTED]
        known = cases_named(executed)
        ran = [known[case] for case in executed if case in known]
        batches = plan.batches(ran, self.run.capabilities, shuffle=shuffle)
        cases = [
            case
            for batch in batches
            if any(case.name in names for case in batch.cases)
            for case in batch.cases
        ]
        before = len(self.reruns)

        def take(results: list[Result]) -> None:
            for result in results:
                self.reruns.setdefault(result.case, result)

        try:
            repeat(cases, take)
        finally:
            self._settle()
        return len(self.reruns) - before


def read_again(folder: Path) -> dict[str, Result]:
    """Return the second results in a run's folder by case; empty if the file is missing."""
    path = folder / AGAIN
    return read_results(path) if path.exists() else {}


def write_reruns(folder: Path, reruns: dict[str, Result]) -> None:
    """Write second results into a run's folder; raise OSError if that fails."""
    write_whole(folder / AGAIN, map(format_result, reruns.values()))

"""A run beside what is expected of it: each case's outcome, and flakes told from failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vkgroup.conformance import plan
from vkgroup.conformance.expectations import PLAIN, PROMISES, Expectations, Expected, Outcome
from vkgroup.conformance.families import cases_by_name
from vkgroup.conformance.family import AnyCase
from vkgroup.files import write_whole
from vkgroup.results.journal import read_results
from vkgroup.results.record import Result, Status, TakeResults
from vkgroup.results.run import Run

AGAIN = "reruns.jsonl"
"""The file in a run's folder with the results of cases that were judged again."""

Repeat = Callable[[Sequence[AnyCase], TakeResults], object]
"""Judges cases again, and hands on their results as they come."""


@dataclass
class RunOutcomes:
    """A run and what is expected of it.

    Attributes
    ----------
    run : the run.
    expectations : what is expected.
    left_out : names of the cases that the skips left out.
    again : second results by case, of what was judged again.
    """

    run: Run
    expectations: Expectations = field(default_factory=Expectations)
    left_out: Collection[str] = ()
    again: dict[str, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.results = [*self.run.results, *self._promises()]
        """Every case's first result; behind them, where it matters, that of `PROMISES`."""
        self.outcomes: dict[str, Outcome] = {}
        """What each case's result is beside what is expected, by name."""
        self._settle()

    def _promises(self) -> list[Result]:
        broken = self.run.capabilities.minimum_promises()
        if broken:
            return [Result(PROMISES, Status.FAIL, detail="; ".join(broken))]
        return [Result(PROMISES, Status.PASS)] if PROMISES in self.expectations.baseline else []

    def _settle(self) -> None:
        outcomes = {result.case: self._outcome(result) for result in self.results}
        outcomes.update(dict.fromkeys(self.left_out, Outcome.SKIP))
        outcomes.update(dict.fromkeys(self.run.missing, Outcome.MISSING))
        self.outcomes = dict(sorted(outcomes.items()))

    def _outcome(self, result: Result) -> Outcome:
        """Return a case's outcome: a flake if one result is expected, and another is not."""
        first = self.expectations.outcome(result.case, result.status)
        if result.case not in self.again:
            return first
        second = self.expectations.outcome(result.case, self.again[result.case].status)
        return first if first.expected == second.expected else Outcome.FLAKE

    @property
    def unexpected(self) -> dict[str, Outcome]:
        """What should not be so, by case; what was not reached is among it."""
        return {name: outcome for name, outcome in self.outcomes.items() if not outcome.expected}

    @property
    def success(self) -> bool:
        """Whether all is as expected."""
        return all(outcome.expected for outcome in self.outcomes.values())

    @property
    def counts(self) -> Counter[Outcome]:
        """How many cases have each outcome."""
        return Counter(self.outcomes.values())

    def named(self, *outcomes: Outcome) -> list[str]:
        """Return the names of the cases with any of these outcomes."""
        return [name for name, outcome in self.outcomes.items() if outcome in outcomes]

    def expected(self, name: str) -> Expected | None:
        """Return the line of the baseline on a case; where it has none, one with a name of Khronos'."""
        return next(iter(self.expectations.lines(name)), None)

    def idle(self) -> list[str]:
        """Return the names of Khronos' in the baseline of which nothing fails: all that answers was judged.

        They are no improvements that must be heeded: Khronos' test may see what no case here does.
        """
        if not self.expectations.khronos:
            return []
        results = [*self.results, *self.again.values()]
        passing = {result.case for result in results if PLAIN[result.status] is Outcome.PASS}
        failing = {result.case for result in results if not PLAIN[result.status].expected}
        judged = {result.case for result in self.results}
        return [
            name
            for name, cases in self.expectations.khronos.items()
            if judged.issuperset(cases) and failing.isdisjoint(cases) and not passing.isdisjoint(cases)
        ]

    def words(self, result: Result) -> str:
        """Return what there is to say of a result: its details, what was expected, what came out again."""
        said = [result.detail]
        expected = self.expected(result.case)
        outcome = self.outcomes[result.case]
        if expected is not None and outcome.improved:
            advice = "remove the line" if outcome != Outcome.IMPROVED_FAIL else "change it to Fail"
            said.append(f"{expected.path}:{expected.line} expects {expected.status}: {advice}")
        elif expected is not None and expected.name != result.case and not PLAIN[result.status].expected:
            said.append(f"{expected.path}:{expected.line} expects {expected.status} of {expected.name}")
        second = self.again.get(result.case)
        if second is not None:
            said.append(f"judged again: {second.status}")
            if PLAIN[result.status].expected:
                said.append(second.detail)
        return "\n".join(filter(None, said))

    def judge_again(self, repeat: Repeat, shuffle: int | None = None) -> int:
        """Judge what is unexpected a second time; returns how many cases were, which time may keep below all.

        What was judged before `repeat` raises an error counts.

        Whole batches are judged again, as deqp-runner repeats whole case lists: a wrong result that depends
        on what else is in a shader is none that comes and goes.
        """
        doubtful = {
            name
            for name, outcome in self.unexpected.items()
            if outcome != Outcome.MISSING and name != PROMISES and name not in self.again
        }
        if not doubtful:
            return 0
        known = cases_by_name()
        ran = [
            known[r.case] for r in self.run.results if r.status != Status.NOT_SUPPORTED and r.case in known
        ]
        batches = plan.batches(ran, self.run.capabilities, shuffle=shuffle)
        cases = [
            case
            for batch in batches
            if any(case.name in doubtful for case in batch.cases)
            for case in batch.cases
        ]
        before = len(self.again)
        try:
            repeat(cases, self._take_again)
        finally:
            self._settle()
        return len(self.again) - before

    def _take_again(self, results: list[Result]) -> None:
        for result in results:
            self.again.setdefault(result.case, result)


def read_again(folder: Path) -> dict[str, Result]:
    """Return the second results that a run's folder holds, by case; none where there is no such file."""
    path = folder / AGAIN
    return read_results(path) if path.exists() else {}


def write_again(folder: Path, again: dict[str, Result]) -> None:
    """Write second results into a run's folder; OSError where that fails."""
    lines = [json.dumps(result.to_json(), ensure_ascii=False) + "\n" for result in again.values()]
    write_whole(folder / AGAIN, "".join(lines))

"""What ``vkgroup conform`` does for continuous integration: what is expected, which part, how long."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from vkgroup.cli.console import Console
from vkgroup.conformance import AnyCase, Run
from vkgroup.conformance.expectations import Expectations, Outcome, read_expectations
from vkgroup.conformance.outcomes import AGAIN, RunOutcomes, read_again, write_again
from vkgroup.errors import VkgroupError
from vkgroup.results.exports import github, save_baseline, write_gitlab, write_tables
from vkgroup.results.record import TakeResults

SHOWN = 20
"""Names of a kind that are printed at most."""

Judge = Callable[[Sequence[AnyCase], float | None, TakeResults], Run]
"""Judges cases once more, in at most so many seconds, apart from the run's folder; hands on each result."""


@dataclass
class Expecting:
    """What the options say, read before anything is judged.

    Attributes
    ----------
    expectations : of the files.
    cases : those to judge.
    left_out : names of those that the skips leave out.
    root : what ``--out`` has to name to go on; None where that is the run's own folder.
    """

    arguments: argparse.Namespace
    expectations: Expectations
    cases: tuple[AnyCase, ...]
    left_out: tuple[str, ...]
    root: Path | None = None

    @property
    def shuffle(self) -> int | None:
        """The seed of the order; None where cases are judged in their own."""
        shuffle: int | bool | None = self.arguments.shuffle
        return self.arguments.seed if shuffle is True else shuffle

    @property
    def tells_flakes(self) -> bool:
        """Whether what is unexpected is judged again."""
        arguments = self.arguments
        return bool(arguments.baseline or arguments.flakes or arguments.save_baseline)

    def judged(
        self, found: Run, out: Path, judge: Judge, console: Console
    ) -> tuple[RunOutcomes, VkgroupError | None]:
        """Compare a run with what is expected; judge again, where asked for, what is not.

        Returns
        -------
        What the run comes to, and why judging again failed: where it did, the first results stand.
        """
        resumed = read_again(out) if self.arguments.resume and self.tells_flakes else {}
        outcomes = RunOutcomes(found, self.expectations, self.left_out, resumed)
        left = None if self.arguments.time_limit is None else self.arguments.time_limit - found.seconds
        if self.tells_flakes and (left is None or left > 0):
            try:
                self._again(outcomes, left, out, judge, console)
            except VkgroupError as error:
                return outcomes, error
        return outcomes, None

    def _again(
        self, outcomes: RunOutcomes, left: float | None, out: Path, judge: Judge, console: Console
    ) -> None:
        """Judge again what is unexpected, and write and say what came of it."""
        start, before = time.monotonic(), len(outcomes.again)
        try:
            outcomes.judge_again(lambda cases, take: judge(cases, left, take), self.shuffle)
        finally:
            count = len(outcomes.again) - before
            if count:
                write_again(out, outcomes.again)
                spent = time.monotonic() - start
                console.print(
                    Text(
                        f"Judged {count} {'case' if count == 1 else 'cases'} again, the batches of what is "
                        f"unexpected, in {spent:.1f} s: {out / AGAIN}"
                    ),
                    soft_wrap=True,
                )

    def write(self, outcomes: RunOutcomes, out: Path) -> None:
        """Write what the options ask for, and the tables."""
        write_tables(outcomes, out)
        if self.arguments.save_baseline is not None:
            save_baseline(self.arguments.save_baseline, outcomes)
        if self.arguments.annotations == "gitlab":
            write_gitlab(outcomes, out)

    def report(self, outcomes: RunOutcomes, out: Path, console: Console) -> None:
        """Print what is expected and what is not, and annotations for GitHub."""
        _kinds(outcomes, out, console, names=bool(self.arguments.baseline or self.arguments.flakes))
        if outcomes.run.missing:
            missing = len(outcomes.run.missing)
            root = shlex.quote(str(self.root or out))
            console.print(
                Text(
                    f"{missing} of {missing + len(outcomes.run.results)} cases were not reached in "
                    f"{self.arguments.time_limit:g} s: go on with --resume --out {root}"
                ),
                soft_wrap=True,
            )
        if self.arguments.save_baseline is not None:
            console.print(Text(f"Baseline: {self.arguments.save_baseline}"), soft_wrap=True)
        if self.arguments.annotations == "github":
            sys.stdout.flush()
            sys.stdout.write("".join(f"{line}\n" for line in github(outcomes, out)))


def read_expecting(arguments: argparse.Namespace, cases: tuple[AnyCase, ...], console: Console) -> Expecting:
    """Read the files and choose the cases; InvalidInput where that is impossible."""
    expectations = read_expectations(arguments.baseline, arguments.skips, arguments.flakes)
    _remarks(expectations, console)
    if arguments.shard is not None:
        cases = arguments.shard.of(cases)
    left_out = {case.name for case in cases if expectations.skipped(case.name)} if arguments.skips else set()
    kept = tuple(case for case in cases if case.name not in left_out)
    return Expecting(arguments, expectations, kept, tuple(sorted(left_out)))


def _remarks(expectations: Expectations, console: Console) -> None:
    """Print how much in the files has names of Khronos', and what has no effect."""
    said = []
    if expectations.khronos:
        count = len(expectations.khronos)
        cases = len(set().union(*expectations.khronos.values()))
        said.append(
            f"{count} {'name' if count == 1 else 'names'} of Khronos' suite in the baseline may fail: "
            f"{cases} cases answer to {'it' if count == 1 else 'them'}"
        )
    strangers = expectations.strangers()
    if strangers:
        said.append(
            f"{len(strangers)} of {len(expectations.baseline)} names in the baseline are of no case of "
            f"this suite, and have no effect: {_some(strangers)}"
        )
    for option, patterns in (("--skips", expectations.skips), ("--flakes", expectations.flakes)):
        if patterns.idle:
            count = len(patterns.idle)
            said.append(
                f"{count} expression{'s' * (count > 1)} of {option} with Khronos' names found no case of "
                f"this suite, without effect: {_some(patterns.idle)}"
            )
    for line in said:
        console.print(Text(line), soft_wrap=True)


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])}{', …' * (len(names) > 3)}"


def _kinds(outcomes: RunOutcomes, out: Path, console: Console, *, names: bool) -> None:
    """Print how many results were expected and, with `names`, what was not."""
    counts = outcomes.counts
    known = [
        f"{counts[outcome]} {words}"
        for outcome, words in (
            (Outcome.EXPECTED_FAIL, "failing as the baseline says"),
            (Outcome.KNOWN_FLAKE, "known to flake"),
        )
        if counts[outcome]
    ]
    if outcomes.left_out:
        known.append(f"{len(outcomes.left_out)} left out by --skips")
    if known:
        console.print(Text("Expected: " + ", ".join(known)))
    idle = outcomes.idle()
    if idle:
        console.print(
            Text(f"Of {len(idle)} of Khronos' names in the baseline nothing fails here: {_some(idle)}"),
            soft_wrap=True,
        )
    _names("New flakes (name them in --flakes):", outcomes.named(Outcome.FLAKE), out / "results.csv", console)
    unexpected = [
        f"{name},{outcome}" for name, outcome in outcomes.unexpected.items() if outcome != Outcome.MISSING
    ]
    if names:
        _names("Unexpected results:", unexpected, out / "failures.csv", console)


def _names(title: str, names: list[str], file: Path, console: Console) -> None:
    """Print some names, and where the others are."""
    if not names:
        return
    console.print(Text(title))
    for name in names[:SHOWN]:
        console.print(Text(f"  {name}"), soft_wrap=True)
    if len(names) > SHOWN:
        console.print(Text(f"  … and {len(names) - SHOWN} more in {file}"), soft_wrap=True)

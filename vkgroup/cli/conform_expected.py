"""``vkgroup conform`` in continuous integration: expectations, shards, time limits, annotations."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from vkgroup.base.errors import VkgroupError
from vkgroup.cli.console import Console
from vkgroup.conformance import AnyCase, Run
from vkgroup.conformance.expectations import ExpectationOutcome, Expectations, read_expectations
from vkgroup.conformance.outcomes import AGAIN, RunOutcomes, read_again, write_reruns
from vkgroup.outputs.exports.annotations import github, write_gitlab
from vkgroup.outputs.exports.baseline import save_baseline, write_tables
from vkgroup.record.record import TakeResults

SHOWN = 20
"""Maximum number of names of a kind that are printed."""

RunCases = Callable[[Sequence[AnyCase], float | None, TakeResults], Run]
"""Repeats cases within a number of seconds, without the run's folder; passes on each result."""


@dataclass
class Expecting:
    """The expectations and cases that the options select, read before the first case runs.

    `expectations`: the content of the files.
    `cases`: the cases to run.
    `left_out`: names of the cases that the skips leave out.
    `root`: the folder for ``--out`` to continue the run; None if it is the run's folder.
    """

    arguments: argparse.Namespace
    expectations: Expectations
    cases: tuple[AnyCase, ...]
    left_out: tuple[str, ...]
    root: Path | None = None

    @property
    def shuffle(self) -> int | None:
        """The seed of the order; None for the suite's order."""
        shuffle: int | bool | None = self.arguments.shuffle
        return self.arguments.seed if shuffle is True else shuffle

    @property
    def tells_flakes(self) -> bool:
        """Whether unexpected cases are repeated."""
        arguments = self.arguments
        return bool(arguments.baseline or arguments.flakes or arguments.save_baseline)

    def judged(
        self, run: Run, out: Path, run_cases: RunCases, console: Console
    ) -> tuple[RunOutcomes, VkgroupError | None]:
        """Compare a run with the expectations; repeat unexpected cases if the options request it.

        Returns the outcomes, and the error that ended the repetition, if any: then the first results stand.
        """
        resumed = read_again(out) if self.arguments.resume and self.tells_flakes else {}
        outcomes = RunOutcomes(run, self.expectations, self.left_out, resumed)
        left = None if self.arguments.time_limit is None else self.arguments.time_limit - run.seconds
        if self.tells_flakes and run.problem is None and (left is None or left > 0):
            try:
                self._again(outcomes, left, out, run_cases, console)
            except VkgroupError as error:
                return outcomes, error
        return outcomes, None

    def _again(
        self, outcomes: RunOutcomes, left: float | None, out: Path, run_cases: RunCases, console: Console
    ) -> None:
        """Repeat unexpected cases, and write and print the results."""
        start, before = time.monotonic(), len(outcomes.reruns)
        try:
            outcomes.rerun(lambda cases, take: run_cases(cases, left, take), self.shuffle)
        finally:
            count = len(outcomes.reruns) - before
            if count:
                write_reruns(out, outcomes.reruns)
                spent = time.monotonic() - start
                console.write_line(
                    f"Judged {count} {'case' if count == 1 else 'cases'} again, the batches of what is "
                    f"unexpected, in {spent:.1f} s: {out / AGAIN}"
                )

    def write(self, outcomes: RunOutcomes, out: Path) -> None:
        """Write the tables, and the files that the options request."""
        write_tables(outcomes, out)
        if self.arguments.save_baseline is not None:
            save_baseline(self.arguments.save_baseline, outcomes)
        if self.arguments.annotations == "gitlab":
            write_gitlab(outcomes, out)

    def report(self, outcomes: RunOutcomes, out: Path, console: Console) -> None:
        """Print expected and unexpected outcomes, and annotations for GitHub."""
        _kinds(outcomes, out, console, names=bool(self.arguments.baseline or self.arguments.flakes))
        if outcomes.run.missing:
            missing = len(outcomes.run.missing)
            root = shlex.quote(str(self.root or out))
            limit = self.arguments.time_limit
            why = "before internal errors ended the run" if limit is None else f"in {limit:g} s"
            within = not outcomes.run.without_verdict and (limit is None or outcomes.run.seconds < limit)
            if self.arguments.maxfail is not None and within:
                why = f"before --maxfail {self.arguments.maxfail} ended the run"
            if outcomes.run.problem is not None:
                why = "before the run ended, because no worker process starts"
            console.write_line(
                f"{missing} of {missing + len(outcomes.run.results)} cases were not reached {why}: "
                f"continue with the same command and --resume --out {root}"
            )
        if self.arguments.save_baseline is not None:
            console.write_line(f"Baseline: {self.arguments.save_baseline}")
        if self.arguments.annotations == "github":
            sys.stdout.flush()
            sys.stdout.write("".join(f"{line}\n" for line in github(outcomes, out)))


def read_expecting(arguments: argparse.Namespace, cases: tuple[AnyCase, ...], console: Console) -> Expecting:
    """Read the files and choose the cases; InvalidInput if that fails."""
    expectations = read_expectations(arguments.baseline, arguments.skips, arguments.flakes)
    _remarks(expectations, console)
    if arguments.shard is not None:
        cases = arguments.shard.of(cases)
    left_out = {case.name for case in cases if expectations.skipped(case.name)} if arguments.skips else set()
    chosen = tuple(case for case in cases if case.name not in left_out)
    return Expecting(arguments, expectations, chosen, tuple(sorted(left_out)))


def _remarks(expectations: Expectations, console: Console) -> None:
    """Print the number of Khronos names in the files, and the lines without effect."""
    if count := len(expectations.khronos):
        cases = len(set().union(*expectations.khronos.values()))
        console.write_line(
            f"{count} {'name' if count == 1 else 'names'} of Khronos' suite in the baseline may fail: "
            f"{cases} case{' answers' if cases == 1 else 's answer'} to {'it' if count == 1 else 'them'}"
        )
    if unknown := expectations.strangers():
        console.write_line(
            f"{len(unknown)} of {len(expectations.baseline)} names in the baseline are of no case of "
            f"this suite, and have no effect: {_some(unknown)}"
        )
    for option, patterns in (("--skips", expectations.skips), ("--flakes", expectations.flakes)):
        if patterns.idle:
            count = len(patterns.idle)
            console.write_line(
                f"{count} expression{'s' * (count > 1)} of {option} with Khronos' names found no case of "
                f"this suite, without effect: {_some(patterns.idle)}"
            )


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])}{', …' * (len(names) > 3)}"


def _kinds(outcomes: RunOutcomes, out: Path, console: Console, *, names: bool) -> None:
    """Print the number of expected results and, with `names`, the unexpected ones."""
    counts = outcomes.counts
    known = {
        "failing as the baseline says": counts[ExpectationOutcome.EXPECTED_FAIL],
        "known to flake": counts[ExpectationOutcome.KNOWN_FLAKE],
        "left out by --skips": len(outcomes.left_out),
    }
    if any(known.values()):
        texts = (f"{count} {words}" for words, count in known.items() if count)
        console.print(Text("Expected: " + ", ".join(texts)))
    if idle := outcomes.idle():
        console.write_line(
            f"Of {len(idle)} of Khronos' names in the baseline nothing fails here: {_some(idle)}"
        )
    flakes = outcomes.named(ExpectationOutcome.FLAKE)
    _names("New flakes (name them in --flakes):", flakes, out / "results.csv", console)
    unexpected = [
        f"{name},{outcome}"
        for name, outcome in outcomes.unexpected.items()
        if outcome != ExpectationOutcome.MISSING
    ]
    if names:
        _names("Unexpected results:", unexpected, out / "failures.csv", console)


def _names(title: str, names: list[str], file: Path, console: Console) -> None:
    """Print some names, and the file with the others."""
    if not names:
        return
    console.print(Text(title))
    for name in names[:SHOWN]:
        console.write_line(f"  {name}")
    if len(names) > SHOWN:
        console.write_line(f"  … and {len(names) - SHOWN} more in {file}")

"""Expectations for a device, in the file formats of Mesa's CI: baselines, skips and flakes.

The files are those that deqp-runner reads (https://gitlab.freedesktop.org/anholt/deqp-runner): a baseline
has lines ``NAME,STATUS``; further columns are ignored, so that ``failures.csv`` and ``results.csv`` of a run
are baselines, too. Skips and flakes have one regular expression per line, which may match anywhere in a name.
Empty lines and lines that begin with ``#`` are ignored in all files.

A name of the Khronos suite stands for the cases that correspond to it (`vkgroup.conformance.caselist`).
Such a case has other data and patterns than Khronos' test: a line of a baseline excuses a failure of the
case, but does not require one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import require_regular
from vkgroup.conformance import caselist
from vkgroup.conformance.caselist import PROMISES, CaseExpressions
from vkgroup.conformance.families import cases_named
from vkgroup.record.record import Status

MOST_BYTES = 256 << 20
"""Maximum size of a file in bytes, six times that of a results file of the whole suite."""


class ExpectationOutcome(StrEnum):
    """A result compared with its expectation, with the names of deqp-runner's ``RunnerStatus``."""

    PASS = "Pass"
    FAIL = "Fail"
    CRASH = "Crash"
    TIMEOUT = "Timeout"
    SKIP = "Skip"
    """No verdict: left out, not supported, without any defined lane, or compiled but not executed."""
    MISSING = "Missing"
    """Not reached before the run's time limit."""
    EXPECTED_FAIL = "ExpectedFail"
    """Fails as in the baseline."""
    FLAKE = "Flake"
    """Failed in one of two executions in the same run."""
    KNOWN_FLAKE = "KnownFlake"
    """Unexpected, but listed in the flakes."""
    IMPROVED_PASS = "UnexpectedImprovement(Pass)"
    """Passes; the baseline has another status."""
    IMPROVED_FAIL = "UnexpectedImprovement(Fail)"
    """Fails; the baseline has a crash or a time-out."""
    IMPROVED_SKIP = "UnexpectedImprovement(Skip)"
    """No verdict any more; the baseline has a failure."""

    @property
    def expected(self) -> bool:
        """Whether a run with this outcome succeeds."""
        return self in _EXPECTED

    @property
    def improved(self) -> bool:
        """Whether the baseline expects a worse outcome."""
        return self in _IMPROVED


_EXPECTED = frozenset(
    {
        ExpectationOutcome.PASS,
        ExpectationOutcome.SKIP,
        ExpectationOutcome.EXPECTED_FAIL,
        ExpectationOutcome.FLAKE,
        ExpectationOutcome.KNOWN_FLAKE,
    }
)
_IMPROVED = frozenset(
    {ExpectationOutcome.IMPROVED_PASS, ExpectationOutcome.IMPROVED_FAIL, ExpectationOutcome.IMPROVED_SKIP}
)

PLAIN = {
    Status.PASS: ExpectationOutcome.PASS,
    Status.FAIL: ExpectationOutcome.FAIL,
    Status.CRASH: ExpectationOutcome.CRASH,
    Status.TIMEOUT: ExpectationOutcome.TIMEOUT,
    Status.UNDEFINED: ExpectationOutcome.SKIP,
    Status.NOT_SUPPORTED: ExpectationOutcome.SKIP,
    Status.COMPILED: ExpectationOutcome.SKIP,
    Status.REJECTED: ExpectationOutcome.FAIL,
    Status.NOT_EMULATED: ExpectationOutcome.SKIP,
}
"""The outcome of each status without an expectation."""

# The outcome of a result by the status in the baseline (deqp-runner, RunnerStatus::with_baseline).
_WITH_BASELINE: dict[ExpectationOutcome, dict[str, ExpectationOutcome]] = {
    ExpectationOutcome.FAIL: {
        "Fail": ExpectationOutcome.EXPECTED_FAIL,
        "ExpectedFail": ExpectationOutcome.EXPECTED_FAIL,
        "Crash": ExpectationOutcome.IMPROVED_FAIL,
        "Timeout": ExpectationOutcome.IMPROVED_FAIL,
    },
    ExpectationOutcome.PASS: dict.fromkeys(
        ("Fail", "Crash", "Missing", "Timeout"), ExpectationOutcome.IMPROVED_PASS
    ),
    ExpectationOutcome.CRASH: dict.fromkeys(("Crash", "ExpectedFail"), ExpectationOutcome.EXPECTED_FAIL),
    ExpectationOutcome.TIMEOUT: {"Timeout": ExpectationOutcome.EXPECTED_FAIL},
    ExpectationOutcome.SKIP: dict.fromkeys(
        ("Fail", "Crash", "Missing", "Timeout"), ExpectationOutcome.IMPROVED_SKIP
    ),
}

_STATUSES = frozenset(outcome.value for outcome in ExpectationOutcome) | {
    "Warn",
    "UnexpectedImprovement(Crash)",
    "UnexpectedImprovement(Timeout)",
    "UnexpectedImprovement(Warn)",
}
"""All names of deqp-runner for a status."""


_KHRONOS = re.compile("dEQP", re.IGNORECASE)
"""Text that marks an expression for Khronos names; no name of vkgroup contains it."""

_FAILING = ("Fail", "Crash", "Timeout", "ExpectedFail")

_NO_WORSE = (ExpectationOutcome.EXPECTED_FAIL, ExpectationOutcome.IMPROVED_FAIL)
"""Outcomes with a Khronos name in the baseline: the case fails as expected, or less severely."""


@dataclass(frozen=True)
class BaselineLine:
    """A line of a baseline: name, deqp-runner's status, file and line number (from 1)."""

    name: str
    status: str
    path: Path
    line: int


@dataclass(frozen=True)
class Patterns:
    """Regular expressions that select cases."""

    ours: CaseExpressions = field(default_factory=CaseExpressions)  # expressions for vkgroup's names
    cases: frozenset[str] = frozenset()  # the cases selected by expressions for Khronos names
    idle: tuple[str, ...] = ()  # file and line of each expression for Khronos names that selects no case

    def find(self, name: str) -> bool:
        """Return whether a case is selected."""
        return name in self.cases or any(True for _ in self.ours.which(name))


@dataclass(frozen=True)
class Expectations:
    """The expectations for a device."""

    baseline: dict[str, BaselineLine] = field(default_factory=dict)  # the lines of the baselines, by name
    #: `skips`, `flakes`: cases to leave out, and cases that may fail or pass.
    skips: Patterns = Patterns()
    flakes: Patterns = Patterns()

    @cached_property
    def khronos(self) -> dict[str, tuple[str, ...]]:
        """The Khronos names in the baselines with a failure, each with its cases."""
        return {
            name: cases
            for name, line in self.baseline.items()
            if line.status in _FAILING and (cases := caselist.answering(name))
        }

    @cached_property
    def _by_case(self) -> dict[str, list[BaselineLine]]:
        """The lines with Khronos names, by their cases."""
        lines: dict[str, list[BaselineLine]] = {}
        for name, cases in self.khronos.items():
            for case in cases:
                lines.setdefault(case, []).append(self.baseline[name])
        return lines

    def strangers(self) -> list[str]:
        """Return the names in the baselines that select no case."""
        known = cases_named(self.baseline)
        return [
            name
            for name in self.baseline
            if name not in known and name != PROMISES and not caselist.answering(name)
        ]

    def skipped(self, name: str) -> bool:
        """Return whether a case is left out."""
        return self.skips.find(name)

    def lines(self, name: str) -> Sequence[BaselineLine]:
        """Return the lines of the baselines for a case: that with its name, else those with Khronos names."""
        own = self.baseline.get(name)
        return self._by_case.get(name, ()) if own is None else (own,)

    def outcome(self, name: str, status: Status) -> ExpectationOutcome:
        """Return the outcome of a case with a status."""
        outcome = PLAIN[status]
        for line in self.lines(name):
            beside = _WITH_BASELINE[outcome].get(line.status, outcome)
            if line.name == name:
                outcome = beside
            elif beside in _NO_WORSE:
                outcome = ExpectationOutcome.EXPECTED_FAIL
                break
        if not outcome.expected and self.flakes.find(name):
            return ExpectationOutcome.KNOWN_FLAKE
        return outcome


def read_expectations(
    baselines: Sequence[Path] = (), skips: Sequence[Path] = (), flakes: Sequence[Path] = ()
) -> Expectations:
    """Read the files; several files of a kind count as one.

    Raise InvalidInput if a file cannot be read or a line is not valid, with the line and what is allowed.
    """
    entries: dict[str, BaselineLine] = {}
    for path in baselines:
        for name, entry in read_baseline(path).items():
            if name in entries:
                other = entries[name]
                raise InvalidInput(
                    f"{path}:{entry.line}: {name} is already at {other.path}:{other.line}; remove one of them"
                )
            entries[name] = entry
    return Expectations(entries, _read_patterns(skips), _read_patterns(flakes))


def read_baseline(path: Path) -> dict[str, BaselineLine]:
    """Read one baseline; raises the errors of `read_expectations`."""
    entries: dict[str, BaselineLine] = {}
    for number, line in _lines(path):
        name, status = parse_line(line, f"{path}:{number}")
        if name in entries:
            raise InvalidInput(
                f"{path}:{number}: {name} is already on line {entries[name].line}; remove one of them"
            )
        entries[name] = BaselineLine(name, status, path, number)
    return entries


def parse_line(line: str, where: str) -> tuple[str, str]:
    """Return name and status of a baseline's line; otherwise InvalidInput, which begins with `where`."""
    name, comma, rest = line.partition(",")
    status = rest.partition(",")[0]
    if not (name and comma and status):
        raise InvalidInput(f"{where}: {_short(line)} is not a line NAME,STATUS and not a comment (#)")
    if status not in _STATUSES:
        raise InvalidInput(
            f"{where}: {_short(status)} is not a status; a baseline has Fail, Crash or Timeout (or another "
            "word of deqp-runner), and comments on separate lines"
        )
    return name, status


def _read_patterns(paths: Sequence[Path]) -> Patterns:
    ours: list[str] = []
    theirs: list[str] = []
    locations: list[str] = []
    for path in paths:
        for number, line in _lines(path):
            where = f"{path}:{number}"
            if (problem := caselist.problem(line)) is not None:
                raise InvalidInput(f"{where}: {_short(line)} is not a regular expression (RE2): {problem}")
            if _KHRONOS.search(line):
                theirs.append(line)
                locations.append(where)
            else:
                ours.append(line)
    cases, useful = caselist.found_by(CaseExpressions(theirs)) if theirs else (frozenset(), frozenset())
    idle = tuple(where for number, where in enumerate(locations) if number not in useful)
    return Patterns(CaseExpressions(ours), cases, idle)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with content, with their numbers."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def read_text(path: Path) -> str:
    """Return the text of a file of expectations; InvalidInput if it cannot be read."""
    try:
        require_regular(path)
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read {path}: it is not UTF-8 text") from error
    if len(text) > MOST_BYTES:
        raise InvalidInput(f"cannot read {path}: it is larger than {MOST_BYTES >> 20} MiB")
    if "\0" in text:
        raise InvalidInput(f"cannot read {path}: it is not text: it contains zero bytes")
    return text


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")

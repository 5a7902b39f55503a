"""What is expected of a device, in the files of Mesa's CI: known failures, cases left out, known flakes.

The files are those that deqp-runner reads (https://gitlab.freedesktop.org/anholt/deqp-runner): a baseline
has lines ``NAME,STATUS``, of which more columns are ignored, so that ``failures.csv`` and ``results.csv`` of
a run are baselines too; skips and flakes have a regular expression a line, found anywhere in a name. Empty
lines and lines that begin with ``#`` are left out in all of them.

Names of Khronos' suite stand for the cases that answer to them (`vkgroup.conformance.khronos_names`). Such a
case need not fail where Khronos' test does, and has data and patterns that it has not: the line of a baseline
excuses the case's failure, and is no reason to miss one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from vkgroup.conformance import expressions, khronos_names
from vkgroup.conformance.expressions import Expressions
from vkgroup.conformance.families import cases_by_name
from vkgroup.errors import InvalidInput
from vkgroup.results.record import Status

PROMISES = "device.minimum_promises"
"""The name under which broken promises of the device (`Capabilities.minimum_promises`) can be expected."""

MOST_BYTES = 256 << 20
"""Bytes of a file at most: a results file of the whole suite has a sixth of them."""


class Outcome(StrEnum):
    """What a result is beside what was expected, in deqp-runner's words (its ``RunnerStatus``)."""

    PASS = "Pass"
    FAIL = "Fail"
    CRASH = "Crash"
    TIMEOUT = "Timeout"
    SKIP = "Skip"
    """Not judged: left out, not supported, or without any defined lane."""
    MISSING = "Missing"
    """Not reached before the run's time was over."""
    EXPECTED_FAIL = "ExpectedFail"
    """Fails as the baseline says."""
    FLAKE = "Flake"
    """Failed and did not fail, in one run."""
    KNOWN_FLAKE = "KnownFlake"
    """Unexpected, but the flakes name it."""
    IMPROVED_PASS = "UnexpectedImprovement(Pass)"
    """Passes; the baseline has another status."""
    IMPROVED_FAIL = "UnexpectedImprovement(Fail)"
    """Fails; the baseline has a crash or a time-out."""
    IMPROVED_SKIP = "UnexpectedImprovement(Skip)"
    """Is not judged any more; the baseline has a failure."""

    @property
    def expected(self) -> bool:
        """Whether a run with it succeeds."""
        return self in _EXPECTED

    @property
    def improved(self) -> bool:
        """Whether the baseline expects worse."""
        return self in _IMPROVED


_EXPECTED = frozenset({Outcome.PASS, Outcome.SKIP, Outcome.EXPECTED_FAIL, Outcome.FLAKE, Outcome.KNOWN_FLAKE})
_IMPROVED = frozenset({Outcome.IMPROVED_PASS, Outcome.IMPROVED_FAIL, Outcome.IMPROVED_SKIP})

PLAIN = {
    Status.PASS: Outcome.PASS,
    Status.FAIL: Outcome.FAIL,
    Status.CRASH: Outcome.CRASH,
    Status.TIMEOUT: Outcome.TIMEOUT,
    Status.UNDEFINED: Outcome.SKIP,
    Status.NOT_SUPPORTED: Outcome.SKIP,
}
"""The outcome of each status where nothing is expected."""

# What is found, and what that is beside what is expected (deqp-runner, RunnerStatus::with_baseline).
_BESIDE: dict[Outcome, dict[str, Outcome]] = {
    Outcome.FAIL: {
        "Fail": Outcome.EXPECTED_FAIL,
        "ExpectedFail": Outcome.EXPECTED_FAIL,
        "Crash": Outcome.IMPROVED_FAIL,
        "Timeout": Outcome.IMPROVED_FAIL,
    },
    Outcome.PASS: dict.fromkeys(("Fail", "Crash", "Missing", "Timeout"), Outcome.IMPROVED_PASS),
    Outcome.CRASH: dict.fromkeys(("Crash", "ExpectedFail"), Outcome.EXPECTED_FAIL),
    Outcome.TIMEOUT: {"Timeout": Outcome.EXPECTED_FAIL},
    Outcome.SKIP: dict.fromkeys(("Fail", "Crash", "Missing", "Timeout"), Outcome.IMPROVED_SKIP),
}

_STATUSES = frozenset(outcome.value for outcome in Outcome) | {
    "Warn",
    "UnexpectedImprovement(Crash)",
    "UnexpectedImprovement(Timeout)",
    "UnexpectedImprovement(Warn)",
}
"""Every word that deqp-runner has for a status."""


_KHRONOS = re.compile("dEQP", re.IGNORECASE)
"""What an expression has that is looked for in Khronos' names; no name of ours has it."""

_FAILING = ("Fail", "Crash", "Timeout", "ExpectedFail")

_NO_WORSE = (Outcome.EXPECTED_FAIL, Outcome.IMPROVED_FAIL)
"""Beside a line with one of Khronos' names: the case fails as the line says, or less badly."""


@dataclass(frozen=True)
class Expected:
    """A line of a baseline: name, status in deqp-runner's words, and where it stands (lines from 1)."""

    name: str
    status: str
    path: Path
    line: int


@dataclass(frozen=True)
class Patterns:
    """Regular expressions that find cases.

    Attributes
    ----------
    ours : those that are looked for in names of ours.
    cases : those that answer to a name of Khronos' in which another expression is found.
    idle : where the expressions stand that are looked for in Khronos' names, and that no case answers to.
    """

    ours: Expressions = field(default_factory=Expressions)
    cases: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()

    def find(self, name: str) -> bool:
        """Return whether a case is found."""
        return name in self.cases or any(True for _ in self.ours.which(name))


@dataclass(frozen=True)
class Expectations:
    """What is expected of a device.

    Attributes
    ----------
    baseline : the lines of the baselines, by their names.
    skips, flakes : cases to leave out, and cases that may fail or not.
    """

    baseline: dict[str, Expected] = field(default_factory=dict)
    skips: Patterns = Patterns()
    flakes: Patterns = Patterns()

    @cached_property
    def khronos(self) -> dict[str, tuple[str, ...]]:
        """The names in the baselines that are Khronos' and may fail, each with the cases that answer."""
        return {
            name: cases
            for name, line in self.baseline.items()
            if line.status in _FAILING and (cases := khronos_names.answering(name))
        }

    @cached_property
    def _by_case(self) -> dict[str, list[Expected]]:
        """The lines with names of Khronos', by the cases that answer to them."""
        found: dict[str, list[Expected]] = {}
        for name, cases in self.khronos.items():
            for case in cases:
                found.setdefault(case, []).append(self.baseline[name])
        return found

    def strangers(self) -> list[str]:
        """Return the names in the baselines that are no case's, and to which none answers."""
        known = cases_by_name() if self.baseline else {}
        return [
            name
            for name in self.baseline
            if name not in known and name != PROMISES and not khronos_names.answering(name)
        ]

    def skipped(self, name: str) -> bool:
        """Return whether a case is left out."""
        return self.skips.find(name)

    def lines(self, name: str) -> Sequence[Expected]:
        """Return what the baselines say of a case: its own line, or else those with Khronos' names."""
        own = self.baseline.get(name)
        return self._by_case.get(name, ()) if own is None else (own,)

    def outcome(self, name: str, status: Status) -> Outcome:
        """Return what a case's status is beside what is expected of it."""
        found = PLAIN[status]
        for line in self.lines(name):
            beside = _BESIDE[found].get(line.status, found)
            if line.name == name:
                found = beside
            elif beside in _NO_WORSE:
                found = Outcome.EXPECTED_FAIL
                break
        if not found.expected and self.flakes.find(name):
            return Outcome.KNOWN_FLAKE
        return found


def read_expectations(
    baselines: Sequence[Path] = (), skips: Sequence[Path] = (), flakes: Sequence[Path] = ()
) -> Expectations:
    """Read the files; several of a kind count as one.

    Raises
    ------
    InvalidInput
        A file cannot be read, or a line of it not be understood: says which, and what belongs there.
    """
    entries: dict[str, Expected] = {}
    for path in baselines:
        for name, entry in read_baseline(path).items():
            if name in entries:
                other = entries[name]
                raise InvalidInput(
                    f"{path}:{entry.line}: {name} stands at {other.path}:{other.line} already: "
                    "remove one of them"
                )
            entries[name] = entry
    return Expectations(entries, _read_patterns(skips), _read_patterns(flakes))


def read_baseline(path: Path) -> dict[str, Expected]:
    """Read one baseline; see `read_expectations` for what is raised."""
    entries: dict[str, Expected] = {}
    for number, line in _lines(path):
        name, status = parse_line(line, f"{path}:{number}")
        if name in entries:
            raise InvalidInput(
                f"{path}:{number}: {name} stands on line {entries[name].line} already: remove one of them"
            )
        entries[name] = Expected(name, status, path, number)
    return entries


def parse_line(line: str, where: str) -> tuple[str, str]:
    """Return name and status of a baseline's line; InvalidInput, which begins with `where`, if it is none."""
    name, comma, rest = line.partition(",")
    status = rest.partition(",")[0]
    if not (name and comma and status):
        raise InvalidInput(f"{where}: {_short(line)} is no line NAME,STATUS and no comment (#)")
    if status not in _STATUSES:
        raise InvalidInput(
            f"{where}: {_short(status)} is no status; a baseline has Fail, Crash or Timeout (or another word "
            "of deqp-runner), and comments on lines of their own"
        )
    return name, status


def _read_patterns(paths: Sequence[Path]) -> Patterns:
    ours: list[str] = []
    theirs: list[str] = []
    places: list[str] = []
    for path in paths:
        for number, line in _lines(path):
            where = f"{path}:{number}"
            if (problem := expressions.problem(line)) is not None:
                raise InvalidInput(f"{where}: {_short(line)} is no regular expression (RE2's): {problem}")
            if _KHRONOS.search(line):
                theirs.append(line)
                places.append(where)
            else:
                ours.append(line)
    cases, useful = khronos_names.found_by(Expressions(theirs)) if theirs else (frozenset(), frozenset())
    idle = tuple(where for number, where in enumerate(places) if number not in useful)
    return Patterns(Expressions(ours), cases, idle)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that say something, with their numbers."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def read_text(path: Path) -> str:
    """Read a file of expectations; InvalidInput where that is not to be had."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read {path}: it is no text in UTF-8") from error
    if len(text) > MOST_BYTES:
        raise InvalidInput(f"cannot read {path}: it is larger than {MOST_BYTES >> 20} MiB")
    if "\0" in text:
        raise InvalidInput(f"cannot read {path}: it is no text, there are zero bytes in it")
    return text


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")

"""The schema of a run: one result for each case, a summary, and the documents that it wrote.

The journal, the database, comparisons, reports and exports all read and write these types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from sys import intern
from typing import Any, Protocol

import msgspec


class Status(StrEnum):
    """The verdict on a case."""

    PASS = "Pass"
    """All lanes with a defined result have the required result."""
    FAIL = "Fail"
    """A lane with a defined result has a wrong one, or the driver rejected a valid shader."""
    UNDEFINED = "Undefined"
    """The case ran, but all its results are undefined; only a crash would have been a failure."""
    NOT_SUPPORTED = "NotSupported"
    """The device lacks a requirement of the case."""
    CRASH = "Crash"
    """The process died, or the device was lost, when it executed only this case."""
    TIMEOUT = "Timeout"
    """The case, executed alone, did not finish within its time limit."""
    COMPILED = "Compiled"
    """The driver of an absent GPU compiled the shaders of the case; nothing was executed."""
    REJECTED = "Rejected"
    """The driver of an absent GPU rejected a valid shader of the case."""
    NOT_EMULATED = "NotEmulated"
    """The emulation of an absent GPU lacks an instruction or a packet that the case needs."""


AGAINST_THE_DEVICE = frozenset({Status.FAIL, Status.CRASH, Status.TIMEOUT, Status.REJECTED})
"""Statuses that are verdicts against the device (exit code 1)."""

UNEXECUTED = frozenset({Status.NOT_SUPPORTED, Status.NOT_EMULATED})
"""Statuses of cases that were not executed, and say nothing about the device."""

_OF_COMPILATION = (Status.COMPILED, Status.REJECTED, Status.NOT_SUPPORTED, Status.CRASH, Status.TIMEOUT)


def possible_statuses(seen: Collection[Status]) -> tuple[Status, ...]:
    """Return the statuses that the cases of a run can have: of compilation if some are seen, or execution."""
    if Status.COMPILED in seen or Status.REJECTED in seen:
        return _OF_COMPILATION
    rare = {Status.COMPILED, Status.REJECTED, Status.NOT_EMULATED} - set(seen)
    return tuple(status for status in Status if status not in rare)


@dataclass(frozen=True, slots=True)
class Result:
    """One case's result: a line of ``results.jsonl``, a row in a database.

    Attributes
    ----------
    case : the case's name.
    seconds : its share of its batch's time, with compilation and comparison.
    defined, undefined : numbers of active lanes with a defined and an undefined result.
    detail : for NotSupported, the missing features; for a failure, the wrong values and the command that
        repeats it.
    evidence : for a failure, the lanes of the first wrong subgroup; see
        `vkgroup.conformance.evidence`. None if there is none.
    device : the device that executed it, in the form of ``--device``, if several share the run; else empty.
    statistics : quantities of `vkgroup.dispatch.statistics` that the driver reports for the shaders of the
        case, in runs that record them; else None. Databases do not store them.
    """

    case: str
    status: Status
    seconds: float = 0.0
    defined: int = 0
    undefined: int = 0
    detail: str = ""
    evidence: dict[str, Any] | None = field(default=None, compare=False)
    device: str = ""
    statistics: dict[str, float] | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON data; without ``evidence`` if there is none."""
        data: dict[str, Any] = {
            "case": self.case,
            "status": self.status.value,
            "seconds": round(self.seconds, 6),
            "defined": self.defined,
            "undefined": self.undefined,
            "detail": self.detail,
            **({"device": self.device} if self.device else {}),
            **({} if self.statistics is None else {"statistics": self.statistics}),
        }
        return data if self.evidence is None else {**data, "evidence": self.evidence}


@dataclass(frozen=True)
class NoVerdict:
    """A case without a verdict, because vkgroup or its host failed.

    Attributes
    ----------
    case : the case's name.
    detail : the error in its first line, then a traceback if there is one.
    """

    case: str
    detail: str


TakeResults = Callable[[list[Result]], object]
"""Called with the results of each batch as they arrive; true ends the run."""


ResultStream = Generator[list[Result], None, None]
"""Iterator over the results of a run by batches; closing it ends the run."""


class _Line(msgspec.Struct):
    """A line of ``results.jsonl``: a `Result`, whose fields without a default are required."""

    case: str
    status: Status
    seconds: float
    defined: int
    undefined: int
    detail: str
    evidence: dict[str, Any] | None = None
    device: str = ""
    statistics: dict[str, float] | None = None


_DECODER = msgspec.json.Decoder(_Line)


class _Name(msgspec.Struct):
    """The name in a line of ``results.jsonl``; its other fields are skipped."""

    case: str


_NAME_DECODER = msgspec.json.Decoder(_Name)


def case_in(line: bytes) -> str | None:
    """Return the case's name in a line of ``results.jsonl``; None for a line without a name."""
    try:
        return _NAME_DECODER.decode(line).case
    except (ValueError, RecursionError):
        return None


def parse_result(line: bytes) -> Result:
    """Return the result in a line of ``results.jsonl``; raise ValueError with the reason if it is invalid."""
    try:
        parsed = _DECODER.decode(line)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    if parsed.status is Status.NOT_SUPPORTED:  # half a million results have a few hundred different details
        parsed.detail = intern(parsed.detail)
    return Result(*msgspec.structs.astuple(parsed))


def format_result(result: Result) -> str:
    """Return the line of ``results.jsonl`` for a result, with its line break."""
    return json.dumps(result.to_json(), ensure_ascii=False) + "\n"


class RunKind(StrEnum):
    """The command that executed a run."""

    CONFORM = "conform"
    PROBE = "probe"
    BENCH = "bench"


@dataclass(frozen=True)
class RunInfo:
    """The summary of a run.

    Attributes
    ----------
    id : eight hexadecimal digits for a run in a database; the path for a run in files.
    kind : the command that executed it.
    device : the device's name.
    driver : the driver's name and version, separated by a space.
    vkgroup : version of vkgroup that ran; empty if unknown.
    started : start time in ISO 8601, UTC; for files without it, the time of their last modification.
    finished : False if the run was killed, or is still in progress.
    seconds : its duration; None if unknown.
    seed : seed of its data; None if it has none.
    counts : results by status (conform), outcomes of experiments by status (probe), rows that are
        ``timed``, ``wrong`` and ``untimed`` (bench).
    source : folder or file that also has the results; empty if there is none.
    host : the machine that ran it; empty if unknown.
    """

    id: str
    kind: RunKind
    device: str
    driver: str
    vkgroup: str
    started: str
    finished: bool = True
    seconds: float | None = None
    seed: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    host: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain JSON data."""
        data = asdict(self)
        return data | {"kind": self.kind.value, "counts": dict(self.counts)}


class Results(Protocol):
    """The results of a conformance run; can be iterated more than once."""

    def __iter__(self) -> Iterator[Result]:
        """Yield every result, one for each case."""

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name; faster than iterating whole results."""

    @property
    def damaged(self) -> int:
        """Lines of a file without a result that the last iteration left out."""

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name; cases that the run does not have are left out."""


class ResultList(list[Result]):
    """The results of a run in progress; see `Results`."""

    damaged = 0

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        return {result.case: result.status for result in self}

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = frozenset(cases)
        return {result.case: result for result in self if result.case in wanted}


@dataclass
class RunRecord:
    """A whole run: in a database, in files or in progress (`vkgroup.record.run.Run`).

    Attributes
    ----------
    info : the summary of the run.
    results : the results of a conformance run; None for other runs, or if only the summary exists.
    documents : the run's JSON documents by name: ``"summary"``
        (`vkgroup.record.run.Run.summary`), ``"capabilities"`` (``{"capabilities": …}``, of
        `vkgroup.device.Capabilities.to_json`), ``"probe"`` (`vkgroup.probe.Probe.to_json`), ``"bench"``
        (`vkgroup.bench.google.to_json`).
    """

    info: RunInfo
    results: Results | None = None
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def declared(self) -> dict[str, Any] | None:
        """The device's capabilities as JSON, from a probe or a conformance run; None if the run has none."""
        document = self.documents.get("probe", self.documents.get("capabilities", {}))
        data = document.get("capabilities")
        return data if data and isinstance(data, dict) else None

    @property
    def experiments(self) -> dict[str, Any] | None:
        """The outcomes of a probe's experiments, by name."""
        data = self.documents.get("probe", {}).get("experiments")
        return data if isinstance(data, dict) else None

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of a conformance run; empty until the run has finished."""
        return self.documents.get("summary", {})

    @property
    def bench(self) -> dict[str, Any] | None:
        """The results of a benchmark run, in Google Benchmark's format."""
        return self.documents.get("bench")

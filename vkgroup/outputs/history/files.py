"""Runs in files: the folder of a conformance run, the JSON of ``vkgroup probe``, ``check`` and ``bench``."""

from __future__ import annotations

import lzma
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import printable, read_text, require_regular
from vkgroup.outputs.history.documents import (
    NAMES,
    describe,
    identify,
    is_check,
    is_cost,
    kind_of,
    parse,
    reports_of,
)
from vkgroup.record.record import Result, RunKind, RunRecord, Status, case_in, parse_result


class FileResults:
    """The results in a file; if a case has several lines, the last one counts.

    An incomplete last line, of a run that was killed, is ignored.

    `path`: the file.
    `strict`: raise InvalidInput for any other line without a result. Otherwise it is left out and counted.

    Attributes: `damaged`: lines that the last iteration left out.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self._path = path
        self._strict = strict
        self.damaged = 0

    def __iter__(self) -> Iterator[Result]:
        if not self._strict and not self._repeats():
            empty = True
            for _, result in self._results():
                empty = False
                yield result
        else:
            last = {result.case: number for number, result in self._results()}
            empty = not last
            for number, result in self._results():
                if last.get(result.case) == number:
                    yield result
        if self.damaged and empty:
            raise InvalidInput(f"{self._path} contains no results: all {self.damaged} lines are invalid")

    def _repeats(self) -> bool:
        """Return whether two lines may name the same case; reads nothing else of a line, which is fast."""
        names: set[str] = set()
        count = 0
        for _, line in self._lines():
            name = case_in(line)
            if name is not None:
                names.add(name)
                count += 1
        return len(names) < count

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        return {result.case: result.status for _, result in self._results()}

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = frozenset(cases)
        if not wanted:
            return {}
        return {result.case: result for _, result in self._results() if result.case in wanted}

    def _results(self) -> Iterator[tuple[int, Result]]:
        """Yield the number of each line with a result, and the result."""
        for number, line in self._lines():
            result = self._result(number, line)
            if result is not None:
                yield number, result

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers; for a truncated compressed file, the readable lines."""
        self.damaged = 0
        try:
            require_regular(self._path)
            opened = lzma.open if self._path.suffix == ".xz" else open
            with opened(self._path, "rb") as file, suppress(EOFError):
                yield from enumerate(file, 1)
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror or error}") from error
        except lzma.LZMAError as error:
            raise InvalidInput(f"{self._path} is not an .xz file, or is damaged: {error}") from error

    def _result(self, number: int, line: bytes) -> Result | None:
        """Return the result of a line; None for a line that is left out."""
        try:
            return parse_result(line)
        except ValueError as error:
            if line.isspace():
                return None
            if self._strict and line.endswith(b"\n"):
                raise InvalidInput(
                    f"{self._path}, line {number}, is not a result of vkgroup conform: {error}"
                ) from None
            self.damaged += 1
            return None


RESULTS, RUN, SUMMARY = "results.jsonl", "run.json", "summary.json"
CAPABILITIES, PROBE, BENCH = "capabilities.json", "probe.json", "bench.json"

_COMPRESSED = f"{RESULTS}.xz"
_OF_A_RUN = (RUN, SUMMARY, CAPABILITIES)
"""Names of the other files of a conformance run in the folder with its results."""

_WANTED = (
    "give the folder of a run (vkgroup conform --out), its results.jsonl (.xz too), or what vkgroup probe "
    "--json or vkgroup bench --json wrote"
)


@dataclass(frozen=True)
class CheckFindings:
    """Findings of ``vkgroup check --json``, which are not a run: the file and its data."""

    path: Path
    data: Mapping[str, Any]


@dataclass(frozen=True)
class CostFile:
    """Costs of one shader of ``vkgroup cost --json``, which are not a run: the file and their data."""

    path: Path
    data: Mapping[str, Any]


def load(path: Path) -> RunRecord:
    """Read a run from files.

    `path`: a folder with ``results.jsonl`` (or ``results.jsonl.xz``) and ``summary.json``, to which
    ``probe.json`` and ``bench.json`` may be added; or one file: results, a summary, a probe or a benchmark
    run (JSON).
    Raises InvalidInput: the path holds no run, or it cannot be read.
    """
    if path.is_dir():
        return _folder(path)
    run = _file(path, strict=True)
    if not isinstance(run, RunRecord):
        raise InvalidInput(f"{path} is no run: {_WANTED}")
    return run


def load_all(path: Path) -> list[RunRecord]:
    """Read every run of a folder and its subfolders, each as a separate run, or the run of a file.

    Raises InvalidInput: there is no run, or one cannot be read. JSON of other kinds is ignored.
    """
    if not path.is_dir():
        return [load(path)]
    folders = [(Path(folder), names) for folder, _, names in sorted(os.walk(path))]
    runs = [run for folder in folders for run in _within(*folder, strict=True) if isinstance(run, RunRecord)]
    if not runs:
        raise InvalidInput(f"{path} holds no run: {_WANTED}")
    return runs


def load_shown(path: Path) -> list[RunRecord | CheckFindings | CostFile]:
    """Read all runs, findings and costs in a folder or a file, each run as a separate one.

    Damaged lines of results are left out and counted (`Results.damaged`), so that a report can mention them.
    When runs are stored or compared, damaged lines are errors.

    Raises InvalidInput: there are no runs or findings, or a file cannot be read.
    """
    others = ", vkgroup check --json, vkgroup cost --json or vkgroup bench"
    wanted = _WANTED.replace(" or vkgroup bench", others)
    if not path.is_dir():
        shown = _shown(path, strict=False)
        if not shown:
            raise InvalidInput(f"{path} is no run: {wanted}")
        return shown
    try:
        names = [entry.name for entry in path.iterdir() if entry.is_file()]
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    runs = _within(path, names, strict=False)
    if not runs:
        raise InvalidInput(f"{path} holds no run: {wanted}")
    return runs


def _within(folder: Path, names: list[str], *, strict: bool) -> list[RunRecord | CheckFindings | CostFile]:
    """Read the files of one folder: the conformance run first, then the others in the order of names."""
    runs: list[RunRecord | CheckFindings | CostFile] = []
    results = next((name for name in (RESULTS, _COMPRESSED) if name in names), None)
    passed = {RUN}
    if results is not None:
        runs.append(_conform(folder / results, strict=strict))
        passed = set(_OF_A_RUN)
    elif SUMMARY in names:
        passed = {RUN, CAPABILITIES}
    for name in sorted(names):
        if name.endswith(".json") and name not in passed:
            runs += _shown(folder / name, strict=strict)
    return [_named(run, folder) for run in runs]


def _named(one: RunRecord | CheckFindings | CostFile, folder: Path) -> RunRecord | CheckFindings | CostFile:
    """Return a conformance run with the folder as its id; other runs have their file."""
    if isinstance(one, RunRecord) and one.info.kind == RunKind.CONFORM:
        return replace(one, info=replace(one.info, id=str(folder)))
    return one


def _shown(path: Path, *, strict: bool) -> list[RunRecord | CheckFindings | CostFile]:
    """Read a file with one run, or with the checks or costs of one or several configurations."""
    one = _file(path, strict=strict)
    if one is not None:
        return [one]
    data = _parsed(path)
    if isinstance(data, list):
        return [CostFile(path, entry) for entry in data if is_cost(entry)]
    return [CheckFindings(path, report) for report in reports_of(_json(path))]


def _file(path: Path, *, strict: bool) -> RunRecord | CheckFindings | None:
    """Read a file; None if no known command wrote it."""
    if path.name.endswith((".jsonl", ".jsonl.xz")):
        return _conform(path, strict=strict)
    if _is_database(path):
        raise InvalidInput(f"{path} is a database: name it with --db, and a run in it by its id")
    data = _json(path)
    kind = kind_of(data)
    if kind is None:
        return CheckFindings(path, data) if is_check(data) else None
    return _recorded(kind, data, path)


def _folder(path: Path) -> RunRecord:
    """Read all files of a folder as one run."""
    first = next((name for name in (RESULTS, _COMPRESSED, SUMMARY) if (path / name).exists()), None)
    names = [*([first] if first else []), *(name for name in (PROBE, BENCH) if (path / name).exists())]
    runs = [load(path / name) for name in names]
    if not runs:
        raise InvalidInput(f"{path} holds no {RESULTS}, {SUMMARY}, {PROBE} or {BENCH}: {_WANTED}")
    documents = {name: data for part in runs for name, data in part.documents.items()}
    return RunRecord(replace(runs[0].info, id=str(path)), runs[0].results, documents)


def _conform(path: Path, *, strict: bool) -> RunRecord:
    """Read a conformance run from its results and the other files of their folder."""
    results = FileResults(path, strict=strict)
    documents: dict[str, dict[str, Any]] = {}
    identity: dict[str, Any] = {}
    if path.name in (RESULTS, _COMPRESSED):
        for name in _OF_A_RUN:
            beside = path.with_name(name)
            if beside.exists() and (data := _json(beside)):
                documents[name.removesuffix(".json")] = data
        identity = documents.pop("run", {})
    summary = documents.get("summary")
    if summary is not None and kind_of(summary) == RunKind.CONFORM:
        return replace(_recorded(RunKind.CONFORM, summary, path), results=results, documents=documents)
    counts = Counter(status.value for status in results.statuses().values())
    with _clear_errors(path.with_name(RUN)):
        known = identify(identity)
    info = replace(known, id=str(path), started=_written(path), counts=dict(counts), source=_source(path))
    return RunRecord(info, results, documents)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Raise an error of a document's schema as InvalidInput that names the file, the field and its type."""
    try:
        yield
    except ValueError as error:
        raise InvalidInput(f"{path} is damaged: {error}") from error


def _recorded(kind: RunKind, data: dict[str, Any], path: Path) -> RunRecord:
    """Return the run that one file describes."""
    with _clear_errors(path):
        info = describe(kind, data)
    info = replace(info, id=str(path), started=info.started or _written(path), source=_source(path))
    documents = {NAMES[kind]: data}
    beside = path.with_name(CAPABILITIES)
    if path.name == SUMMARY and beside.exists():
        documents["capabilities"] = _json(beside)
    return RunRecord(info, None, documents)


def _is_database(path: Path) -> bool:
    try:
        require_regular(path)
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _json(path: Path) -> dict[str, Any]:
    """Read a JSON object; other JSON gives an empty one."""
    data = _parsed(path)
    return data if isinstance(data, dict) else {}


def _parsed(path: Path) -> Any:
    try:
        return parse(read_text(path, "utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no JSON: {error}; {_WANTED}") from error


def _written(path: Path) -> str:
    """Return the time of a file's last modification."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error


def _source(path: Path) -> str:
    """Return the folder of a conformance run, or the file of another run."""
    whole = path.resolve()
    return printable(whole.parent if whole.name in (RESULTS, _COMPRESSED, SUMMARY) else whole)

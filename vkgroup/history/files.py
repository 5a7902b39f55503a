"""Runs in files: the folder of a conformance run, the JSON of ``vkgroup probe`` and ``vkgroup bench``."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vkgroup.conformance.results import Result, Status
from vkgroup.errors import InvalidInput
from vkgroup.history.model import Kind, Recorded, RunInfo

RESULTS, RUN, SUMMARY = "results.jsonl", "run.json", "summary.json"
CAPABILITIES, PROBE, BENCH = "capabilities.json", "probe.json", "bench.json"

_WANTED = (
    "give the folder of a run (vkgroup conform --out), its results.jsonl, or what vkgroup probe --json or "
    "vkgroup bench --json wrote"
)


def load(path: Path) -> Recorded:
    """Read a run from files.

    Parameters
    ----------
    path : a folder with ``results.jsonl`` and ``summary.json``, to which ``probe.json`` and ``bench.json``
        may be added; or one file: results (``.jsonl``), a summary, a probe or a benchmark run (JSON).

    Raises
    ------
    InvalidInput
        There is nothing of the kind, or it cannot be read.
    """
    if path.is_dir():
        return _folder(path)
    if path.suffix == ".jsonl":
        return _conform(path)
    if _is_database(path):
        raise InvalidInput(f"{path} is a database: name it with --db, and a run in it by its id")
    data = _json(path)
    kind = _kind(data)
    if kind is None:
        raise InvalidInput(f"{path} is no run: {_WANTED}")
    return Recorded(_info(kind, data, path), None, {_document(kind): data})


def load_all(path: Path) -> list[Recorded]:
    """Read every run of a folder and of the folders in it, each as a run of its own; of a file, its one.

    Raises
    ------
    InvalidInput
        There is none, or one cannot be read. JSON of other kinds is passed over.
    """
    if not path.is_dir():
        return [load(path)]
    found: list[Recorded] = []
    for folder, _, names in sorted(os.walk(path)):
        place = Path(folder)
        if RESULTS in names:
            found.append(_conform(place / RESULTS))
        for name in sorted(names):
            if not name.endswith(".json") or name == RUN or (name == SUMMARY and RESULTS in names):
                continue
            data = _json(place / name)
            kind = _kind(data)
            if kind is not None:
                found.append(Recorded(_info(kind, data, place / name), None, {_document(kind): data}))
    if not found:
        raise InvalidInput(f"{path} holds no run: {_WANTED}")
    return found


def _folder(path: Path) -> Recorded:
    """Read everything of a folder as one run."""
    found: list[Recorded] = []
    if (path / RESULTS).exists():
        found.append(_conform(path / RESULTS))
    elif (path / SUMMARY).exists():
        found.append(load(path / SUMMARY))
    found += [load(path / name) for name in (PROBE, BENCH) if (path / name).exists()]
    if not found:
        raise InvalidInput(f"{path} holds no {RESULTS}, {SUMMARY}, {PROBE} or {BENCH}: {_WANTED}")
    documents = {name: data for part in found for name, data in part.documents.items()}
    return Recorded(replace(found[0].info, id=str(path)), found[0].results, documents)


def _conform(path: Path) -> Recorded:
    """Read a conformance run by its results; what stands beside them says of which device."""
    results = FileResults(path)
    beside = path.name == RESULTS
    documents = {
        name.removesuffix(".json"): data
        for name in (SUMMARY, CAPABILITIES)
        if beside and path.with_name(name).exists() and (data := _json(path.with_name(name)))
    }
    summary = documents.get("summary")
    if summary is not None and _kind(summary) == Kind.CONFORM:
        return Recorded(_info(Kind.CONFORM, summary, path), results, documents)
    identity = _json(path.with_name(RUN)) if beside and path.with_name(RUN).exists() else {}
    counts = Counter(status.value for status in results.statuses().values())
    info = RunInfo(
        id=str(path),
        kind=Kind.CONFORM,
        device=_text(identity, "device"),
        driver=_text(identity, "driver").strip(),
        vkgroup=_text(identity, "vkgroup"),
        started=_written(path),
        finished=False,
        seed=_seed(identity),
        counts=dict(counts),
        source=_source(path),
    )
    return Recorded(info, results, documents)


class FileResults:
    """The results in a ``results.jsonl``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Result]:
        for number, line in self._lines():
            result = self._result(number, line)
            if result is not None:
                yield result

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        found: dict[str, Status] = {}
        for number, line in self._lines():
            plain = _LINE.fullmatch(line)
            status = _STATUSES.get(plain[2]) if plain else None
            if plain and status:
                found[plain[1].decode()] = status
            elif result := self._result(number, line):
                found[result.case] = result.status
        return found

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = frozenset(cases)
        found: dict[str, Result] = {}
        for number, line in self._lines() if wanted else ():
            plain = _LINE.fullmatch(line)
            if plain and plain[1].decode() not in wanted:
                continue
            result = self._result(number, line)
            if result is not None and result.case in wanted:
                found[result.case] = result
        return found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            with self._path.open("rb") as file:
                yield from enumerate(file, 1)
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror}") from error

    def _result(self, number: int, line: bytes) -> Result | None:
        """Return the result of a line; None for the last one of a killed run, which is cut off."""
        try:
            return Result.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            if line.endswith(b"\n"):
                raise InvalidInput(f"{self._path}, line {number}, is no result: {_WANTED}") from None
            return None


_LINE = re.compile(
    rb'\{"case": "([\w.+-]+)", "status": "(\w+)", "seconds": [\d.e-]+, "defined": \d+, "undefined": \d+, '
    rb'"detail": "[^\0-\x1f]*"\}\n'
)
"""Lines as vkgroup writes them: names and statuses are seen without parsing. Any other line is parsed."""

_STATUSES = {status.value.encode(): status for status in Status}


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _json(path: Path) -> dict[str, Any]:
    """Read a JSON object; of other JSON an empty one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no JSON: {error}; {_WANTED}") from error
    return data if isinstance(data, dict) else {}


def _kind(data: Mapping[str, Any]) -> Kind | None:
    """Tell what wrote a JSON object."""
    if isinstance(data.get("benchmarks"), list):
        return Kind.BENCH
    if isinstance(data.get("capabilities"), dict) and isinstance(data.get("experiments"), dict):
        return Kind.PROBE
    if isinstance(data.get("totals"), dict) and isinstance(data.get("device"), str):
        return Kind.CONFORM
    return None


def _document(kind: Kind) -> str:
    return {Kind.CONFORM: "summary", Kind.PROBE: "probe", Kind.BENCH: "bench"}[kind]


def _info(kind: Kind, data: dict[str, Any], path: Path) -> RunInfo:
    """Return the line of a run from the file that it wrote."""
    info = describe(kind, data)
    return replace(info, id=str(path), started=info.started or _written(path), source=_source(path))


def describe(kind: Kind, data: dict[str, Any]) -> RunInfo:
    """Return the line of a run as far as its document says it."""
    if kind == Kind.PROBE:
        device = _table(data, "capabilities")
        found = RunInfo(
            "", kind, _text(device, "name"), _driver(device, "driver_name", "driver_info"), "", ""
        )
    elif kind == Kind.BENCH:
        context = _table(data, "context")
        seed = _text(context, "seed")
        found = RunInfo(
            id="",
            kind=kind,
            device=_text(context, "device"),
            driver=_driver(context, "driver_name", "driver_info"),
            vkgroup=_text(context, "vkgroup_version"),
            started=_moment(_text(context, "date")),
            seed=int(seed) if seed.isdecimal() and len(seed) < 19 else None,
            host=_text(context, "host_name"),
        )
    else:
        found = RunInfo(
            id="",
            kind=kind,
            device=_text(data, "device"),
            driver=_driver(_table(data, "driver"), "name", "info"),
            vkgroup=_text(_table(data, "versions"), "vkgroup"),
            started=_moment(_text(data, "started")),
            seconds=_number(data.get("seconds")),
            seed=_seed(data),
        )
    return replace(found, counts=count(kind, data))


def count(kind: Kind, data: Mapping[str, Any]) -> dict[str, int]:
    """Return `RunInfo.counts` of what a run wrote."""
    if kind == Kind.CONFORM:
        totals = _table(data, "totals")
        return {name: number for name, number in totals.items() if isinstance(number, int) and number}
    if kind == Kind.PROBE:
        found = [one.get("status") for one in data["experiments"].values() if isinstance(one, dict)]
        return dict(Counter(status for status in found if isinstance(status, str)))
    rows: dict[str, str] = {}
    for entry in data["benchmarks"]:
        if isinstance(entry, dict) and isinstance(name := entry.get("run_name", entry.get("name")), str):
            state = "wrong" if entry.get("error_occurred") else "untimed" if entry.get("skipped") else "timed"
            rows[name] = state
    return dict(Counter(rows.values()))


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _driver(data: Mapping[str, Any], name: str, info: str) -> str:
    return f"{_text(data, name)} {_text(data, info)}".strip()


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _seed(data: Mapping[str, Any]) -> int | None:
    found = data.get("seed")
    return found if isinstance(found, int) and abs(found) < 1 << 63 else None


def _text(data: Mapping[str, Any], name: str) -> str:
    found = data.get(name)
    return found if isinstance(found, str) else ""


def _moment(text: str) -> str:
    """Return a moment in UTC, or nothing where the text is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _written(path: Path) -> str:
    """Return when a file was last written."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error


def _source(path: Path) -> str:
    """Return where a run's files are: the folder of a conformance run, the file of others."""
    place = path.resolve()
    return str(place.parent if place.name in (RESULTS, SUMMARY) else place)

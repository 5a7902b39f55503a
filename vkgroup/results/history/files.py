"""Runs in files: the folder of a conformance run, the JSON of ``vkgroup probe``, ``check`` and ``bench``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vkgroup.errors import InvalidInput
from vkgroup.results.history.documents import NAMES, describe, identify, is_check, kind_of, parse
from vkgroup.results.history.lines import FileResults
from vkgroup.results.record import Kind, RunRecord

RESULTS, RUN, SUMMARY = "results.jsonl", "run.json", "summary.json"
CAPABILITIES, PROBE, BENCH = "capabilities.json", "probe.json", "bench.json"

_COMPRESSED = f"{RESULTS}.xz"
_OF_A_RUN = (RUN, SUMMARY, CAPABILITIES)
"""What stands beside the results of a conformance run and belongs to it."""

_WANTED = (
    "give the folder of a run (vkgroup conform --out), its results.jsonl (.xz too), or what vkgroup probe "
    "--json or vkgroup bench --json wrote"
)


@dataclass(frozen=True)
class Check:
    """What ``vkgroup check --json`` wrote, which is no run of a device: its file, and what is in it."""

    path: Path
    data: Mapping[str, Any]


def load(path: Path) -> RunRecord:
    """Read a run from files.

    Parameters
    ----------
    path : a folder with ``results.jsonl`` (or ``results.jsonl.xz``) and ``summary.json``, to which
        ``probe.json`` and ``bench.json`` may be added; or one file: results, a summary, a probe or a
        benchmark run (JSON).

    Raises
    ------
    InvalidInput
        There is nothing of the kind, or it cannot be read.
    """
    if path.is_dir():
        return _folder(path)
    run = _file(path, strict=True)
    if not isinstance(run, RunRecord):
        raise InvalidInput(f"{path} is no run: {_WANTED}")
    return run


def load_all(path: Path) -> list[RunRecord]:
    """Read every run of a folder and of the folders in it, each as a run of its own; of a file, its one.

    Raises
    ------
    InvalidInput
        There is none, or one cannot be read. JSON of other kinds is passed over.
    """
    if not path.is_dir():
        return [load(path)]
    folders = [(Path(folder), names) for folder, _, names in sorted(os.walk(path))]
    found = [run for folder in folders for run in _within(*folder, strict=True) if isinstance(run, RunRecord)]
    if not found:
        raise InvalidInput(f"{path} holds no run: {_WANTED}")
    return found


def load_shown(path: Path) -> list[RunRecord | Check]:
    """Read everything of one folder, or of a file, that can be shown, each run as one of its own.

    Lines of results that are damaged are left out and counted (`Results.damaged`): they can be told of where
    a run is shown, while a run that is kept or compared would look as if it did not have the cases.

    Raises
    ------
    InvalidInput
        There is nothing, or some of it cannot be read.
    """
    wanted = f"{_WANTED.replace(' or vkgroup bench', ', vkgroup check --json or vkgroup bench')}"
    if not path.is_dir():
        one = _file(path, strict=False)
        if one is None:
            raise InvalidInput(f"{path} is no run: {wanted}")
        return [one]
    try:
        names = [entry.name for entry in path.iterdir() if entry.is_file()]
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    found = _within(path, names, strict=False)
    if not found:
        raise InvalidInput(f"{path} holds no run: {wanted}")
    return found


def _within(folder: Path, names: list[str], *, strict: bool) -> list[RunRecord | Check]:
    """Read what a folder holds itself: the conformance run first, then the others in the order of names."""
    found: list[RunRecord | Check] = []
    results = next((name for name in (RESULTS, _COMPRESSED) if name in names), None)
    passed = {RUN}
    if results is not None:
        found.append(_conform(folder / results, strict=strict))
        passed = set(_OF_A_RUN)
    elif SUMMARY in names:
        passed = {RUN, CAPABILITIES}
    for name in sorted(names):
        if name.endswith(".json") and name not in passed:
            one = _file(folder / name, strict=strict)
            found += [] if one is None else [one]
    return [_named(one, folder) for one in found]


def _named(one: RunRecord | Check, folder: Path) -> RunRecord | Check:
    """Return a conformance run of a folder under the folder's name; others have their file's."""
    if isinstance(one, RunRecord) and one.info.kind == Kind.CONFORM:
        return replace(one, info=replace(one.info, id=str(folder)))
    return one


def _file(path: Path, *, strict: bool) -> RunRecord | Check | None:
    """Read a file; None where no command wrote it that we know of."""
    if path.name.endswith((".jsonl", ".jsonl.xz")):
        return _conform(path, strict=strict)
    if _is_database(path):
        raise InvalidInput(f"{path} is a database: name it with --db, and a run in it by its id")
    data = _json(path)
    kind = kind_of(data)
    if kind is None:
        return Check(path, data) if is_check(data) else None
    return _recorded(kind, data, path)


def _folder(path: Path) -> RunRecord:
    """Read everything of a folder as one run."""
    first = next((name for name in (RESULTS, _COMPRESSED, SUMMARY) if (path / name).exists()), None)
    names = [*([first] if first else []), *(name for name in (PROBE, BENCH) if (path / name).exists())]
    found = [load(path / name) for name in names]
    if not found:
        raise InvalidInput(f"{path} holds no {RESULTS}, {SUMMARY}, {PROBE} or {BENCH}: {_WANTED}")
    documents = {name: data for part in found for name, data in part.documents.items()}
    return RunRecord(replace(found[0].info, id=str(path)), found[0].results, documents)


def _conform(path: Path, *, strict: bool) -> RunRecord:
    """Read a conformance run by its results; what stands beside them says of which device."""
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
    if summary is not None and kind_of(summary) == Kind.CONFORM:
        return replace(_recorded(Kind.CONFORM, summary, path), results=results, documents=documents)
    counts = Counter(status.value for status in results.statuses().values())
    info = replace(
        identify(identity), id=str(path), started=_written(path), counts=dict(counts), source=_source(path)
    )
    return RunRecord(info, results, documents)


def _recorded(kind: Kind, data: dict[str, Any], path: Path) -> RunRecord:
    """Return the run of which a file is all there is."""
    info = describe(kind, data)
    info = replace(info, id=str(path), started=info.started or _written(path), source=_source(path))
    documents = {NAMES[kind]: data}
    beside = path.with_name(CAPABILITIES)
    if path.name == SUMMARY and beside.exists():
        documents["capabilities"] = _json(beside)
    return RunRecord(info, None, documents)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _json(path: Path) -> dict[str, Any]:
    """Read a JSON object; of other JSON an empty one."""
    try:
        data = parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no JSON: {error}; {_WANTED}") from error
    return data if isinstance(data, dict) else {}


def _written(path: Path) -> str:
    """Return when a file was last written."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}; {_WANTED}") from error


def _source(path: Path) -> str:
    """Return where a run's files are: the folder of a conformance run, the file of others."""
    place = path.resolve()
    return str(place.parent if place.name in (RESULTS, _COMPRESSED, SUMMARY) else place)

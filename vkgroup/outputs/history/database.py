"""The runs in a database: list, select by name, read and remove them."""

from __future__ import annotations

import re
import secrets
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base.errors import InvalidInput
from vkgroup.outputs.history.connection import connect, damaged, guarded
from vkgroup.outputs.history.documents import parse
from vkgroup.outputs.history.writing import MOST, RunWriter, transaction
from vkgroup.record.record import Result, RunInfo, RunKind, RunRecord, Status

LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
"""The name of the run that was started last; ``latest~1`` is the one before."""

_FIELDS = tuple(field.name for field in fields(RunInfo))
"""The columns of a run after its row number; the column of `RunInfo.id` is `key`."""

_COLUMNS = ", ".join(("id", "key", *_FIELDS[1:]))
_CHUNK = 500
"""Number of names in a query and of rows in a fetch: SQLite allows at least 999 parameters."""


class Database:
    """A file of runs; see `vkgroup.outputs.history.open`."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._connection = connect(path, write=write)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; all committed data are already in it."""
        # An error here loses no data: closing only removes the log.
        with suppress(sqlite3.Error):
            self._connection.close()

    def runs(self, *, kind: RunKind | None = None, device: str = "") -> list[RunInfo]:
        """Return the summaries of all runs, the most recently started first.

        `kind`: only runs of this kind.
        `device`: only runs of devices whose name or driver contains this text, case-insensitive.
        """
        found = [info for _, info in self._rows(kind, device)]
        return [self._counted(info) for info in found]

    def run(self, name: str, *, kind: RunKind | None = None, device: str = "") -> RunRecord:
        """Return a run.

        `name`: the run's id or its beginning, ``latest``, or ``latest~N`` for the Nth before that.
        `kind`, `device`: select among these runs only; as in `runs`.
        Raises InvalidInput: no run, or more than one, has that name.
        """
        row, info = self._find(name, kind, device)
        documents = self._documents(row)
        results = _DatabaseResults(self._connection, self.path, row)
        return RunRecord(self._counted(info), results if results.any() else None, documents)

    def results(self, run: RunInfo | str) -> Iterator[Result]:
        """Yield the results of a conformance run; nothing for other runs."""
        row, _ = self._find(run if isinstance(run, str) else run.id, None, "")
        yield from _DatabaseResults(self._connection, self.path, row)

    def begin(self, info: RunInfo, *, resume: bool = False) -> RunWriter:
        """Begin to write a run, which is unfinished until `RunWriter.finish`.

        `info`: the run; its id, counts and end are ignored.
        `resume`: continue the newest run of the same kind, device, driver, seed and source, if there is
        one; its start becomes the current time.
        """
        with guarded(self.path), transaction(self._connection):
            same = self._same(info, finished=True) if resume else None
            if same is not None:
                self._connection.execute(
                    "UPDATE run SET finished = 0, counts = NULL, started = ? WHERE id = ?",
                    (info.started, same[0]),
                )
                return RunWriter(self._connection, self.path, *same)
            key = self._new_key()
            cursor = self._connection.execute(
                "INSERT INTO run (key, kind, device, driver, vkgroup, started, seed, source, host) "
                "VALUES (:key, :kind, :device, :driver, :vkgroup, :started, :seed, :source, :host)",
                info.to_json() | {"key": key},
            )
            assert cursor.lastrowid is not None
            return RunWriter(self._connection, self.path, cursor.lastrowid, key)

    def add(self, run: RunRecord) -> tuple[str, bool]:
        """Copy a run into the database.

        Returns its id, and whether anything was written. If the database has the same run (kind, device,
        driver, seed and start), a finished one is not changed, and an unfinished one is completed.
        """
        there = self._finished_like(run.info)
        if there is not None:
            return there, False
        with guarded(self.path), transaction(self._connection):
            begun = self._same(run.info, finished=False) if run.info.source else None
            if begun is not None:
                self._connection.execute("DELETE FROM result WHERE run = ?", begun[:1])
        writer = self.begin(run.info) if begun is None else RunWriter(self._connection, self.path, *begun)
        for name, data in run.documents.items():
            writer.document(name, data)
        if run.results is not None:
            results = iter(run.results)
            while batch := list(islice(results, MOST)):
                writer.add(batch)
        if run.info.finished:
            writer.finish(run.info.seconds, run.info.counts)
        return writer.id, True

    def remove(self, name: str) -> RunInfo:
        """Remove a run, and the names and details that no other run uses; return its summary."""
        row, info = self._find(name, None, "")
        with guarded(self.path), transaction(self._connection):
            execute = self._connection.execute
            execute("DELETE FROM run WHERE id = ?", (row,))
            execute("DELETE FROM judge WHERE id NOT IN (SELECT judge FROM result WHERE judge IS NOT NULL)")
            execute("DELETE FROM case_name WHERE id NOT IN (SELECT case_id FROM result)")
            execute("DELETE FROM detail WHERE id NOT IN (SELECT detail FROM result WHERE detail IS NOT NULL)")
        return info

    def _rows(self, kind: RunKind | None, device: str) -> list[tuple[int, RunInfo]]:
        with guarded(self.path):
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM run ORDER BY started DESC, id DESC"
            ).fetchall()
        found = [(row[0], self._info(row)) for row in rows]
        wanted = device.casefold()
        return [
            (row, info)
            for row, info in found
            if (kind is None or info.kind == kind) and wanted in f"{info.device} {info.driver}".casefold()
        ]

    def _info(self, row: Sequence[Any]) -> RunInfo:
        data = dict(zip(_FIELDS, row[1:], strict=True))
        try:
            data["finished"] = bool(data["finished"])
            data["counts"] = {} if data["counts"] is None else msgspec.json.decode(data["counts"])
            return msgspec.convert(data, RunInfo)
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(self.path, f"a run: {error}") from error

    def _counted(self, info: RunInfo) -> RunInfo:
        """Return a run's summary; the results of an unfinished run are counted here."""
        if info.counts or info.kind != RunKind.CONFORM:
            return info
        with guarded(self.path):
            counts = self._connection.execute(
                "SELECT status.text, count(*) FROM result JOIN status ON status.id = result.status "
                "WHERE run = (SELECT id FROM run WHERE key = ?) GROUP BY result.status ORDER BY status.id",
                (info.id,),
            ).fetchall()
        return replace(info, counts=dict(counts))

    def _find(self, name: str, kind: RunKind | None, device: str) -> tuple[int, RunInfo]:
        rows = self._rows(kind, device)
        latest = LATEST.fullmatch(name)
        if latest:
            back = int(latest[1] or 0)
            if back < len(rows):
                return rows[back]
            what = "no run" if not rows else "only 1 run" if len(rows) == 1 else f"only {len(rows)} runs"
            raise InvalidInput(f"{self.path} has {what} of that kind, so no {name}: see vkgroup history")
        found = [row for row in rows if name and row[1].id.startswith(name.lower())]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(info.id for _, info in found[:5])
            raise InvalidInput(
                f"{len(found)} runs in {self.path} begin with {name!r}: {ids}: give more of it"
            )
        raise InvalidInput(
            f"{self.path} has no run {name!r}: give an id of vkgroup history --db {self.path}, the beginning "
            "of one, latest or latest~1"
        )

    def _documents(self, row: int) -> dict[str, dict[str, Any]]:
        with guarded(self.path):
            rows = self._connection.execute(
                "SELECT name, content FROM document WHERE run = ? ORDER BY id", (row,)
            ).fetchall()
        found: dict[str, dict[str, Any]] = {}
        for name, content in rows:
            try:
                found[msgspec.convert(name, str)] = _document(content)
            except (zlib.error, ValueError, TypeError, RecursionError) as error:
                raise damaged(self.path, f"the document {name!r} of a run: {error}") from error
        return found

    def _same(self, info: RunInfo, *, finished: bool) -> tuple[int, str] | None:
        """Return the row and id of the newest run that `info` can continue; it may be finished."""
        found: tuple[int, str] | None = self._connection.execute(
            "SELECT id, key FROM run WHERE kind = ? AND device = ? AND driver = ? AND seed IS ? "
            "AND source = ? AND (? OR NOT finished) ORDER BY id DESC LIMIT 1",
            (info.kind.value, info.device, info.driver, info.seed, info.source, finished),
        ).fetchone()
        return found

    def _finished_like(self, info: RunInfo) -> str | None:
        """Return the id of a finished run that equals the one to be added; None if there is none."""
        with guarded(self.path):
            found = self._connection.execute(
                "SELECT key FROM run WHERE kind = ? AND device = ? AND driver = ? AND seed IS ? "
                "AND started = ? AND finished",
                (info.kind.value, info.device, info.driver, info.seed, info.started),
            ).fetchone()
        return found[0] if found else None

    def _new_key(self) -> str:
        while True:
            key = secrets.token_hex(4)
            if not self._connection.execute("SELECT 1 FROM run WHERE key = ?", (key,)).fetchone():
                return key


class _DatabaseResults:
    """The results of one run in a database."""

    _QUERY = (
        "SELECT case_name.text, status.text, microseconds, defined, undefined, detail.text, evidence, "
        "judge.text FROM result "
        "JOIN case_name ON case_name.id = case_id JOIN status ON status.id = result.status "
        "LEFT JOIN detail ON detail.id = result.detail LEFT JOIN judge ON judge.id = result.judge "
        "WHERE run = ?"
    )

    damaged = 0
    """Always 0: an invalid result in a database is an error; see `Results.damaged`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, row: int) -> None:
        self._connection = connection
        self._path = path
        self._row = row

    def any(self) -> bool:
        """Whether there are any results."""
        with guarded(self._path):
            query = "SELECT EXISTS (SELECT 1 FROM result WHERE run = ?)"
            return bool(self._connection.execute(query, (self._row,)).fetchone()[0])

    def __iter__(self) -> Iterator[Result]:
        with guarded(self._path):
            cursor = self._connection.execute(self._QUERY, (self._row,))
            while rows := cursor.fetchmany(_CHUNK):
                yield from map(self._result, rows)

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name."""
        with guarded(self._path):
            rows = self._connection.execute(
                "SELECT text, result.status FROM result JOIN case_name ON case_name.id = case_id "
                "WHERE run = ?",
                (self._row,),
            ).fetchall()
            known = dict(self._connection.execute("SELECT id, text FROM status").fetchall())
        try:
            statuses = {number: Status(text) for number, text in known.items()}
            return {name: statuses[number] for name, number in rows}
        except (ValueError, KeyError) as error:
            raise damaged(self._path, f"an unknown status: {error}") from error

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name."""
        wanted = list(cases)
        found: dict[str, Result] = {}
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            marks = ", ".join("?" * len(part))
            with guarded(self._path):
                rows = self._connection.execute(
                    f"{self._QUERY} AND case_id IN (SELECT id FROM case_name WHERE text IN ({marks}))",
                    (self._row, *part),
                ).fetchall()
            found |= {result.case: result for result in map(self._result, rows)}
        return found

    def _result(self, row: Sequence[Any]) -> Result:
        case, status, microseconds, defined, undefined, detail, evidence, judge = row
        try:
            # A column of SQLite may contain values of any type.
            msgspec.convert(microseconds, int)
            columns = {
                "case": case,
                "status": status,
                "seconds": microseconds / 1e6,
                "defined": defined,
                "undefined": undefined,
                "detail": "" if detail is None else detail,
                "evidence": None if evidence is None else _document(evidence),
                "device": "" if judge is None else judge,
            }
            return msgspec.convert(columns, Result)
        except (zlib.error, ValueError, TypeError, RecursionError) as error:
            raise damaged(self._path, f"a result: {error}") from error


def _document(content: bytes) -> dict[str, Any]:
    """Return a compressed JSON object; raise zlib.error or ValueError for other bytes."""
    return msgspec.convert(parse(zlib.decompress(content)), dict[str, Any])

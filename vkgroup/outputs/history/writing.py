"""Writing a run into a database while it runs: one transaction for each batch of results.

A batch is in the database completely or not at all. The run is marked as unfinished until `RunWriter.finish`,
so a run that is killed stays in the database as unfinished, with every committed batch.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vkgroup.outputs.history.connection import DatabaseError, guarded
from vkgroup.record.record import Result

MOST = 20_000
"""Maximum number of results in a transaction, during which other writers wait."""

_RESULT = """INSERT OR REPLACE INTO result
    (run, case_id, status, microseconds, defined, undefined, detail, evidence, judge)
    VALUES (?, (SELECT id FROM case_name WHERE text = ?), (SELECT id FROM status WHERE text = ?), ?, ?, ?,
        (SELECT id FROM detail WHERE digest = ?), ?, (SELECT id FROM judge WHERE text = ?))"""


class RunWriter:
    """One run that is being written; `vkgroup.outputs.history.Database.begin` makes it.

    `id`: the run's, as lists show it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, row: int, key: str) -> None:
        self._connection = connection
        self._path = path
        self._row = row
        self.id = key

    def add(self, results: Sequence[Result]) -> None:
        """Write a batch of results; a second result of a case replaces the first.

        Raises DatabaseError: the database cannot be written; what was added before stays.
        """
        for start in range(0, len(results), MOST):
            with guarded(self._path), transaction(self._connection):
                self._insert(results[start : start + MOST])

    def _insert(self, results: Sequence[Result]) -> None:
        execute = self._connection.executemany
        details = {text: _digest(text) for text in {_text(result.detail) for result in results} if text}
        names = [(_text(result.case),) for result in results]
        statuses = {result.status for result in results}
        judges = {_text(result.device) for result in results if result.device}
        execute("INSERT OR IGNORE INTO status (text) VALUES (?)", [(status.value,) for status in statuses])
        execute("INSERT OR IGNORE INTO judge (text) VALUES (?)", [(judge,) for judge in judges])
        execute("INSERT OR IGNORE INTO case_name (text) VALUES (?)", names)
        execute(
            "INSERT OR IGNORE INTO detail (digest, text) VALUES (?, ?)",
            [(digest, text) for text, digest in details.items()],
        )
        execute(
            _RESULT,
            [
                (
                    self._row,
                    name,
                    result.status.value,
                    round(result.seconds * 1e6),
                    result.defined,
                    result.undefined,
                    details.get(_text(result.detail)),
                    None if result.evidence is None else _compressed(result.evidence),
                    _text(result.device) or None,
                )
                for result, (name,) in zip(results, names, strict=True)
            ],
        )

    def document(self, name: str, data: Mapping[str, Any]) -> None:
        """Store a document of the run; it replaces one of the same name. See `RunRecord.documents`."""
        content = _compressed(data)
        with guarded(self._path), transaction(self._connection):
            self._connection.execute(
                "INSERT INTO document (run, name, content) VALUES (?, ?, ?) "
                "ON CONFLICT (run, name) DO UPDATE SET content = excluded.content",
                (self._row, name, content),
            )

    def finish(self, seconds: float | None, counts: Mapping[str, int]) -> None:
        """Mark the run as finished."""
        with guarded(self._path), transaction(self._connection):
            changed = self._connection.execute(
                "UPDATE run SET finished = 1, seconds = ?, counts = ? WHERE id = ?",
                (seconds, json.dumps(dict(counts)), self._row),
            ).rowcount
        if not changed:
            raise DatabaseError(f"{self._path}: the run {self.id} was removed while it was being written")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction, which excludes other writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # If the disk is full, SQLite has already ended the transaction.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _text(text: str) -> str:
    """Return a text that SQLite can store: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _compressed(data: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps(data, ensure_ascii=True).encode())


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=12).digest()

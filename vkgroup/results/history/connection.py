"""Opening the SQLite file, with concurrent writers, and errors that say what to do.

Databases are in WAL mode (https://www.sqlite.org/wal.html): readers never wait, writers wait for each other,
and what a killed process has committed is recovered by the next process that opens the file.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vkgroup.errors import InvalidInput
from vkgroup.results.history import schema

BUSY_SECONDS = 60.0
"""Seconds for which a writer waits for others; each locks the database for one batch of results."""

_AGAIN_SECONDS = 0.05


class DatabaseError(InvalidInput):
    """A database that cannot be read or written; says why, and what to do."""


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database at the newest schema.

    A database of an older schema is migrated; if it cannot be written, in a copy in memory.

    Parameters
    ----------
    path : the file; with `write` it is made if it does not exist.
    write : whether results will be written. Reading needs no write permission.

    Raises
    ------
    InvalidInput
        There is no such file, or it is another program's, damaged, locked, read-only (with `write`) or newer.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder: name a database file in it")
    if not write and not path.exists():
        raise InvalidInput(
            f"there is no database {path}: record a run with vkgroup conform --db {path}, or add recorded "
            f"ones with vkgroup history add {path} RUN…"
        )
    writable = _writable(path)
    if write and not writable:
        raise DatabaseError(
            f"{path} cannot be written: the file or its folder is read-only or missing; name another file"
        )
    with guarded(path):
        if writable:
            return _open(path, "rwc" if write else "rw")
        return _read_only(path)


def _writable(path: Path) -> bool:
    """Return whether a file and SQLite's log beside it can be written."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def _open(path: Path, mode: str) -> sqlite3.Connection:
    connection = _raw(path, f"mode={mode}")
    try:
        if mode == "rw" and schema.version_of(connection, str(path)) == 0:
            raise InvalidInput(f"{path} is empty: no run was recorded in it")
        if schema.version_of(connection, str(path)) < schema.VERSION or mode == "rwc":
            _log_ahead(connection)
        schema.migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _raw(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{options}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # a run may write its results from another thread
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    # In WAL mode a killed process loses nothing; a power failure may lose the last commits only.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Turn on WAL mode, waiting for other processes that do the same, because SQLite does not wait here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)


def _read_only(path: Path) -> sqlite3.Connection:
    """Open a read-only database; one of an older schema is migrated in memory."""
    log = path.with_name(path.name + "-wal")
    # Without a log no process is writing, and SQLite need not make its shared files.
    alone = not log.exists() or not log.stat().st_size
    connection = _raw(path, "mode=ro&immutable=1" if alone else "mode=ro")
    try:
        version = schema.version_of(connection, str(path))
        if version == 0:
            raise InvalidInput(f"{path} is empty: no run was recorded in it")
        if version < schema.VERSION:
            copy = sqlite3.connect(":memory:", isolation_level=None)
            connection.backup(copy)
            connection.close()
            connection = copy
        schema.migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a `DatabaseError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise DatabaseError(_words(path, error)) from error
    except (OverflowError, UnicodeError) as error:
        raise DatabaseError(f"{path}: a value cannot be stored in a database: {error}") from error
    except OSError as error:
        raise DatabaseError(f"{path}: {error.strerror or error}") from error


def damaged(path: Path, what: str) -> DatabaseError:
    """Return the error for a database with invalid content."""
    return DatabaseError(
        f"{path} is damaged ({what}): keep it, and add the folders of its runs to a new one (vkgroup history "
        "add); `sqlite3 FILE .recover` may recover the rest"
    )


def _name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", None) or "")


def _words(path: Path, error: sqlite3.Error) -> str:
    name = _name(error)
    for begins, words in (
        ("SQLITE_NOTADB", f"{path} is not an SQLite database: name another file; nothing was changed"),
        (
            ("SQLITE_BUSY", "SQLITE_LOCKED"),
            f"{path} has been locked for {BUSY_SECONDS:g} s by another program: end that, or try again",
        ),
        ("SQLITE_READONLY", f"{path} cannot be written: it is read-only; name another file"),
        ("SQLITE_FULL", f"{path} cannot be written: the disk is full; make room, what was committed is kept"),
        ("SQLITE_CANTOPEN", f"{path} cannot be opened: look at the rights of the file and of its folder"),
        ("SQLITE_IOERR", f"{path} cannot be read or written: {error}; databases need a local disk"),
        ("SQLITE_CONSTRAINT_FOREIGNKEY", f"{path}: the run was removed while it was being written"),
    ):
        if name.startswith(begins):
            return words
    return str(damaged(path, str(error)))

"""The SQLite file: opening it with concurrent writers, its tables, and clear errors.

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

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import require_regular_if_exists

BUSY_SECONDS = 60.0
"""Seconds for which a writer waits for others; each locks the database for one batch of results."""

_AGAIN_SECONDS = 0.05


class DatabaseError(InvalidInput):
    """A database cannot be read or written; the message says why, and what to do."""


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database.

    Raises InvalidInput: there is no such file, or it is another program's, damaged, locked, read-only (with
    `write`) or of another schema version.

    `path`: the file; with `write` it is created if it does not exist.
    `write`: whether results will be written. Reading needs no write permission.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a database file")
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
        for suffix in ("", "-wal", "-shm", "-journal"):  # SQLite opens the files beside it, too
            require_regular_if_exists(path.with_name(path.name + suffix))
        if writable:
            return _open(path, "mode=rwc" if write else "mode=rw", create=write)
        log = path.with_name(path.name + "-wal")
        # Without a log no process is writing, and SQLite does not have to create its shared files.
        alone = not log.exists() or not log.stat().st_size
        return _open(path, "mode=ro&immutable=1" if alone else "mode=ro")


def _writable(path: Path) -> bool:
    """Return whether a file and SQLite's log beside it can be written."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def _open(path: Path, options: str, *, create: bool = False) -> sqlite3.Connection:
    connection = _raw(path, options)
    try:
        empty = version_of(connection, str(path)) == 0
        if empty and not create:
            raise InvalidInput(f"{path} is empty: no run was recorded in it")
        if create:
            _log_ahead(connection)
        if empty:
            _create(connection, str(path))
        _check(connection, str(path))
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
    # In WAL mode a killed process loses no commits; a power failure may lose only the last ones.
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


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as a `DatabaseError` that says what to do."""
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


APPLICATION_ID = 0x766B6772
"""``vkgr``: identifies vkgroup's databases (``PRAGMA application_id``)."""

SCHEMA = (
    # Names, statuses, details and devices are stored once each, and results refer to them; details are found
    # by a digest, so that no index has their texts a second time. Documents (what a run wrote as JSON) and
    # evidence are compressed JSON; the counts of a run stand beside it, so that a list counts no results.
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        device TEXT NOT NULL,
        driver TEXT NOT NULL,
        vkgroup TEXT NOT NULL,
        seed INTEGER,
        host TEXT NOT NULL,
        source TEXT NOT NULL,
        started TEXT NOT NULL,
        finished INTEGER NOT NULL DEFAULT 0,
        seconds REAL,
        kind TEXT NOT NULL DEFAULT 'conform',
        counts TEXT
    )""",
    "CREATE TABLE case_name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE status (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "CREATE TABLE detail (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL)",
    "CREATE TABLE judge (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    """CREATE TABLE result (
        run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        case_id INTEGER NOT NULL,
        status INTEGER NOT NULL,
        microseconds INTEGER NOT NULL,
        defined INTEGER NOT NULL,
        undefined INTEGER NOT NULL,
        detail INTEGER,
        evidence BLOB,
        judge INTEGER,
        PRIMARY KEY (run, case_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE document (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        name TEXT NOT NULL,
        content BLOB NOT NULL,
        UNIQUE (run, name)
    )""",
)

VERSION = 3
"""Version of the schema; databases of other versions are refused."""


def _create(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in an empty database."""
    with transaction(connection):
        # Read the version again under the lock: another process may have created the tables meanwhile.
        if version_of(connection, path) == 0:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


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


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a database of vkgroup, 0 for an empty one; InvalidInput for any other file."""
    application, version, objects = _header(connection)
    if application != APPLICATION_ID:
        if version or objects:
            raise InvalidInput(
                f"{path} is another program's database; use a different file; nothing was changed"
            )
        return 0
    if version != VERSION:
        raise InvalidInput(
            f"{path} has schema version {version}, and this vkgroup reads version {VERSION}; nothing was "
            "changed. Make a new database from the folders of its runs: vkgroup history add FILE RUN…"
        )
    return version


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return application, version and number of objects, read in one transaction."""
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")
    try:
        application, version, objects = (
            int(connection.execute(question).fetchone()[0])
            for question in (
                "PRAGMA application_id",
                "PRAGMA user_version",
                "SELECT count(*) FROM sqlite_master",
            )
        )
    finally:
        # If the disk is full, SQLite has already ended the transaction.
        if alone and connection.in_transaction:
            connection.execute("COMMIT")
    return application, version, objects


def _shape(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return kind, name and columns of all objects, except those that SQLite adds itself."""
    return set(
        connection.execute(
            "SELECT m.type, m.name, coalesce(group_concat(c.name), '') FROM sqlite_master AS m "
            "LEFT JOIN pragma_table_info(m.name) AS c WHERE m.name NOT LIKE 'sqlite!_%' ESCAPE '!' "
            "GROUP BY m.type, m.name"
        )
    )


def _check(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database whose tables do not match its version, or that has views or triggers."""
    model = sqlite3.connect(":memory:")
    try:
        for statement in SCHEMA:
            model.execute(statement)
        expected = _shape(model)
    finally:
        model.close()
    if _shape(connection) != expected:
        raise InvalidInput(
            f"{path} does not have the tables of schema {VERSION}: another program changed it; name another "
            "file, and add the folders of its runs to that (vkgroup history add)"
        )

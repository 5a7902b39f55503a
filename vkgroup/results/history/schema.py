"""The database's tables, and the migrations from version to version.

``PRAGMA user_version`` is the number of migrations that were applied. A released migration is never changed;
further changes are new migrations.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from vkgroup.errors import InvalidInput

APPLICATION_ID = 0x766B6772
"""``vkgr``: identifies vkgroup's databases (``PRAGMA application_id``)."""

MIGRATIONS: tuple[Sequence[str], ...] = (
    # 1: conformance runs. Names, statuses and details stand once each, and results refer to them; details
    # are found by a digest, so that no index has their texts a second time.
    (
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
            seconds REAL
        )""",
        "CREATE TABLE case_name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
        "CREATE TABLE status (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
        "CREATE TABLE detail (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL)",
        """CREATE TABLE result (
            run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
            case_id INTEGER NOT NULL,
            status INTEGER NOT NULL,
            microseconds INTEGER NOT NULL,
            defined INTEGER NOT NULL,
            undefined INTEGER NOT NULL,
            detail INTEGER,
            PRIMARY KEY (run, case_id)
        ) WITHOUT ROWID""",
    ),
    # 2: probes and benchmarks beside them, what a run wrote as JSON (compressed), and its counts, so that
    # listing runs does not count results.
    (
        "ALTER TABLE run ADD COLUMN kind TEXT NOT NULL DEFAULT 'conform'",
        "ALTER TABLE run ADD COLUMN counts TEXT",
        """CREATE TABLE document (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
            name TEXT NOT NULL,
            content BLOB NOT NULL,
            UNIQUE (run, name)
        )""",
    ),
    # 3: the lanes of failures (compressed JSON), which reports draw, and which of several devices judged.
    (
        "ALTER TABLE result ADD COLUMN evidence BLOB",
        "CREATE TABLE judge (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
        "ALTER TABLE result ADD COLUMN judge INTEGER",
    ),
)

VERSION = len(MIGRATIONS)
"""Version of the schema that this vkgroup reads and writes."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Migrate a database to `VERSION` in one transaction; an empty one gets its tables.

    Raises
    ------
    InvalidInput
        It is another program's, newer than this vkgroup, or does not match its version; nothing is changed.
    """
    if version_of(connection, path) == VERSION:
        _check(connection, path)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read the version again under the lock: another process may have migrated the database meanwhile.
        for statements in MIGRATIONS[version_of(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        _check(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a database of vkgroup, 0 for an empty one; `InvalidInput` for any other."""
    application, version, objects = _header(connection)
    if application != APPLICATION_ID:
        if version or objects:
            raise InvalidInput(
                f"{path} is another program's database: name another file; nothing was changed"
            )
        return 0
    if version > VERSION:
        raise InvalidInput(
            f"{path} was written by a newer vkgroup (schema {version}; this one knows {VERSION}): update "
            "vkgroup, or name another file; nothing was changed"
        )
    if version < 1:
        raise InvalidInput(f"{path} is damaged: it has no schema version; nothing was changed")
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
        if alone:
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
        for statements in MIGRATIONS:
            for statement in statements:
                model.execute(statement)
        expected = _shape(model)
    finally:
        model.close()
    if _shape(connection) != expected:
        raise InvalidInput(
            f"{path} does not have the tables of schema {VERSION}: another program changed it; name another "
            "file, and add the folders of its runs to that (vkgroup history add)"
        )

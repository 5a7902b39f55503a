"""Migration of databases of older schemas; those of newer schemas are not changed."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Result, Status
from vkgroup.outputs import history
from vkgroup.outputs.history import RunKind
from vkgroup.outputs.history import connection as schema
from vkgroup.outputs.history.connection import APPLICATION_ID, VERSION

#: What version 1 made, as it was: not derived from today's migrations.
VERSION_1 = """
    CREATE TABLE run (
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
        );
    CREATE TABLE case_name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE status (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE detail (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL);
    CREATE TABLE result (
            run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
            case_id INTEGER NOT NULL,
            status INTEGER NOT NULL,
            microseconds INTEGER NOT NULL,
            defined INTEGER NOT NULL,
            undefined INTEGER NOT NULL,
            detail INTEGER,
            PRIMARY KEY (run, case_id)
        ) WITHOUT ROWID;
    INSERT INTO run VALUES
        (1, 'aaaa1111', 'Old GPU', 'old 1.0', '0.0.9', 5, 'host', '/old', '2025-05-05T05:05:05+00', 1, 9.5),
        (2, 'bbbb2222', 'Old GPU', 'old 1.1', '0.0.9', NULL, 'host', '', '2025-06-05T05:05:05+00', 0, NULL);
    INSERT INTO case_name VALUES (1, 'vote.a'), (2, 'vote.b');
    INSERT INTO status VALUES (1, 'Pass'), (2, 'Fail');
    INSERT INTO detail VALUES (1, x'0102', 'lane 3');
    INSERT INTO result VALUES (1, 1, 1, 250000, 7, 1, NULL), (1, 2, 2, 500000, 8, 0, 1),
        (2, 1, 2, 1, 8, 0, 1);
    PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of schema 1."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.close()
    return path


def _version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def _check(database: history.Database) -> None:
    second, first = database.runs()
    assert (first.id, first.kind, first.driver, first.seed, first.seconds) == (
        "aaaa1111",
        RunKind.CONFORM,
        "old 1.0",
        5,
        9.5,
    )
    assert first.finished
    assert not second.finished
    assert (first.counts, second.counts) == ({"Pass": 1, "Fail": 1}, {"Fail": 1})
    assert list(database.results(first)) == [
        Result("vote.a", Status.PASS, 0.25, 7, 1),
        Result("vote.b", Status.FAIL, 0.5, 8, 0, "lane 3"),
    ]
    assert database.run("aaaa").documents == {}


@pytest.mark.parametrize("write", [False, True])
def test_schema_1_is_migrated(old: Path, write: bool, make_info) -> None:
    with history.open(old, write=write) as database:
        _check(database)
    assert _version(old) == VERSION == 3
    with history.open(old, write=True) as database:
        writer = database.begin(make_info(kind=RunKind.PROBE))
        writer.document("probe", {"capabilities": {}})
        writer.finish(None, {"observed": 1})
    with history.open(old) as database:
        assert database.run("latest").documents == {"probe": {"capabilities": {}}}


def test_a_read_only_old_database_is_read(old: Path, monkeypatch) -> None:
    before = old.read_bytes()
    monkeypatch.setattr("vkgroup.outputs.history.connection.os.access", lambda path, mode: False)
    with history.open(old) as database:
        _check(database)
    assert old.read_bytes() == before


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_several_processes_may_migrate_at_once(old: Path) -> None:
    children = []
    for _ in range(5):
        child = os.fork()
        if not child:
            try:
                with history.open(old, write=True) as database:
                    _check(database)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
    assert _version(old) == VERSION


def test_a_migration_that_fails_changes_nothing(old: Path, monkeypatch) -> None:
    broken = ("CREATE TABLE half (a)", "CREATE TABLE run (b)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[:1], broken))
    with pytest.raises(InvalidInput):
        history.open(old, write=True)
    monkeypatch.undo()
    assert _version(old) == 1
    with history.open(old) as database:
        _check(database)


@pytest.mark.parametrize("write", [False, True])
def test_a_newer_schema_is_refused(old: Path, write: bool) -> None:
    connection = sqlite3.connect(old)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = old.read_bytes()
    with pytest.raises(
        InvalidInput, match=rf"newer vkgroup \(schema {VERSION + 1}; this one knows {VERSION}\)"
    ):
        history.open(old, write=write)
    assert old.read_bytes() == before


def test_tables_that_do_not_fit_the_version_are_refused(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.execute("DROP TABLE detail")
    connection.execute(
        "CREATE VIEW detail AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a) "
        "SELECT x AS id, x AS digest, x AS text FROM a"
    )
    connection.close()
    with pytest.raises(InvalidInput, match="does not have the tables of schema"):
        history.open(old)
    assert _version(old) == 1

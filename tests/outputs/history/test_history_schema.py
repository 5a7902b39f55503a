"""The schema of a database: other versions and other tables are refused, and the file is not changed."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.outputs import history
from vkgroup.outputs.history.connection import VERSION


def _execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database without runs, and without a log beside it."""
    path = tmp_path / "runs.db"
    history.open(path, write=True).close()
    _execute(path, "PRAGMA journal_mode = DELETE")
    return path


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1, 0])
def test_another_schema_version_is_refused(database: Path, version: int, write: bool) -> None:
    _execute(database, f"PRAGMA user_version = {version}")
    before = database.read_bytes()
    message = (
        rf"{re.escape(str(database))} has schema version {version}, and this vkgroup reads version "
        rf"{VERSION}; .*"
        "vkgroup history add FILE RUN…"
    )
    with pytest.raises(InvalidInput, match=message):
        history.open(database, write=write)
    assert database.read_bytes() == before


def test_tables_that_do_not_match_the_schema_are_refused(database: Path) -> None:
    _execute(
        database,
        "DROP TABLE detail",
        "CREATE VIEW detail AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a) "
        "SELECT x AS id, x AS digest, x AS text FROM a",
    )
    with pytest.raises(InvalidInput, match="does not have the tables of schema"):
        history.open(database)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_several_processes_may_create_a_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    children = []
    for _ in range(5):
        child = os.fork()
        if not child:
            try:
                with history.open(path, write=True):
                    os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
    with history.open(path) as database:
        assert list(database.runs()) == []

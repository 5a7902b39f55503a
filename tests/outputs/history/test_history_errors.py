"""Databases that are damaged, locked, read-only, full or of another kind: clear errors, no lost data."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Result
from vkgroup.outputs import history
from vkgroup.outputs.history import DatabaseError


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text("results of all kinds\n" * 100), "is not an SQLite database"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16), "database"),
        (_foreign, "another program's database"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_another_file_is_refused_and_not_changed(tmp_path: Path, make, words, write) -> None:
    path = tmp_path / "runs.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InvalidInput, match=words):
        history.open(path, write=write)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_reading_needs_a_file_with_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no database .*history add"):
        history.open(tmp_path / "none.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(InvalidInput, match="is empty"):
        history.open(tmp_path / "empty.db")
    with pytest.raises(InvalidInput, match="cannot be written"):
        history.open(tmp_path / "no" / "folder" / "runs.db", write=True)
    assert not (tmp_path / "none.db").exists()


def test_a_lock_that_is_not_released_is_reported(tmp_path: Path, results, record, monkeypatch) -> None:
    record(results)
    monkeypatch.setattr("vkgroup.outputs.history.connection.BUSY_SECONDS", 0.1)
    other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with history.open(tmp_path / "runs.db", write=True) as database:
        with pytest.raises(DatabaseError, match=r"locked for 0.1 s by another program"):
            database.begin(database.runs()[0])
        assert len(list(database.results("latest"))) == len(results), "readers do not wait"
    other.execute("ROLLBACK")
    other.close()


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path, results, make_info) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        writer = database.begin(make_info())
        writer.add(results[:2])
        pages = database._connection.execute("PRAGMA page_count").fetchone()[0]
        database._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(DatabaseError, match="the disk is full"):
            writer.document("summary", {"much": os.urandom(1 << 16).hex()})
        assert list(database.results(writer.id)) == list(results[:2])


def test_a_read_only_database_can_be_read(tmp_path: Path, results, record, monkeypatch) -> None:
    key = record(results)
    monkeypatch.setattr("vkgroup.outputs.history.connection.os.access", lambda path, mode: False)
    before = sorted((entry.name, entry.stat().st_mtime_ns) for entry in tmp_path.iterdir())
    with history.open(tmp_path / "runs.db") as database:
        assert [info.id for info in database.runs()] == [key]
        assert len(list(database.results(key))) == len(results)
        with pytest.raises(DatabaseError, match="is read-only"):
            database.remove(key)
    assert sorted((entry.name, entry.stat().st_mtime_ns) for entry in tmp_path.iterdir()) == before
    with pytest.raises(DatabaseError, match="cannot be written"):
        history.open(tmp_path / "runs.db", write=True)


def _read(path: Path, key: str) -> list[Result]:
    with history.open(path) as database:
        return list(database.run(key).results or ())


def test_invalid_content_is_reported(tmp_path: Path, results, record) -> None:
    for statement in (
        "UPDATE run SET kind = 'dance'",
        "UPDATE run SET counts = '[1'",
        "UPDATE run SET seed = 'three'",
        "UPDATE status SET text = 'Perhaps' WHERE id = 1",
        "UPDATE result SET microseconds = 'long'",
        "UPDATE result SET microseconds = 1.5",
        "UPDATE document SET content = x'00'",
        "UPDATE case_name SET text = CAST(x'ff' AS TEXT) WHERE id = 1",
        "CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM result; END",
    ):
        key = record(results, {"summary": {}})
        connection = sqlite3.connect(tmp_path / "runs.db")
        connection.execute(statement)
        connection.commit()
        connection.close()
        with pytest.raises(InvalidInput, match=r"damaged|another program changed it"):
            _read(tmp_path / "runs.db", key)
        (tmp_path / "runs.db").unlink()


def test_damage_anywhere_is_an_error_or_harmless(tmp_path: Path, results, record) -> None:
    for _ in range(3):
        record(results, {"summary": {"device": "x" * 3000}})
    whole = (tmp_path / "runs.db").read_bytes()
    dice = random.Random(7)
    refused = 0
    for _ in range(150):
        data = bytearray(whole[: dice.choice((len(whole), len(whole), dice.randrange(len(whole))))])
        for _ in range(dice.randrange(1, 40)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        (tmp_path / "damaged.db").write_bytes(data)
        try:
            with history.open(tmp_path / "damaged.db") as database:
                for info in database.runs():
                    run = database.run(info.id)
                    if run.results is not None:
                        assert all(isinstance(one.case, str) for one in run.results)
                        run.results.statuses()
        except InvalidInput:
            refused += 1
    assert refused > 20

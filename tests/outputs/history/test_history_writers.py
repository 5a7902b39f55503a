"""Several processes write one database at once, and some are killed."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vkgroup.conformance import Result, Status
from vkgroup.outputs import history

BATCH = 40


def _batch(writer: int, number: int) -> list[Result]:
    return [
        Result(f"shared.case{number * BATCH + one}", Status.FAIL, detail=f"writer {writer}, batch {number}")
        for one in range(BATCH)
    ]


def _start(work: Callable[[], None]) -> int:
    """Let a child do some work; it leaves without whatever this process would do at its end."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def _integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_writers_do_not_lose_each_others_results(tmp_path: Path, make_info) -> None:
    path = tmp_path / "runs.db"

    def write(writer: int) -> None:
        with history.open(path, write=True) as database:  # all of them find no file, and make it
            run = database.begin(make_info(seed=writer))
            for number in range(15):
                run.add(_batch(writer, number))
            run.finish(1.0, {"Fail": 15 * BATCH})

    children = [_start(lambda writer=writer: write(writer)) for writer in range(5)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
    with history.open(path) as database:
        runs = database.runs()
        assert sorted(info.seed or 0 for info in runs) == list(range(5))
        for info in runs:
            found = list(database.results(info))
            assert len(found) == 15 * BATCH
            assert {one.detail.split(",")[0] for one in found} == {f"writer {info.seed}"}
    assert _integrity(path) == "ok"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("after", [0, 1, 7, 30])
def test_a_killed_writer_leaves_what_it_committed(tmp_path: Path, make_info, results, after) -> None:
    path = tmp_path / "runs.db"
    reading, writing = os.pipe()

    def write() -> None:
        run = history.open(path, write=True).begin(make_info())
        os.write(writing, b".")
        for number in range(1_000_000):
            run.add(_batch(0, number))
            os.write(writing, b".")

    child = _start(write)
    committed = -1
    while committed < after:
        committed += len(os.read(reading, 1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(writing)
    committed += len(os.read(reading, 1_000_000))
    os.close(reading)

    with history.open(path, write=True) as database:
        (info,) = database.runs()
        kept = sum(info.counts.values())
        assert not info.finished
        assert kept % BATCH == 0, "a batch is there whole or not at all"
        assert kept // BATCH in (committed, committed + 1), "a commit may come before its announcement"
        assert {one.case for one in database.results(info)} == {f"shared.case{one}" for one in range(kept)}
        other = database.begin(make_info(seed=4))
        other.add(results)
        other.finish(1.0, {})
    assert _integrity(path) == "ok"


def test_a_run_can_be_written_in_another_thread(tmp_path: Path, make_info, results) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        writer = database.begin(make_info())
        with ThreadPoolExecutor(1) as pool:
            pool.submit(writer.add, results).result()
        assert len(list(database.results(writer.id))) == len(results)

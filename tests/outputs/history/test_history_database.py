"""Database of runs: stored runs are read back, found by name, and take little space."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Result, Status
from vkgroup.outputs import history
from vkgroup.outputs.history import DatabaseError, RunKind


def test_a_run_is_read_as_it_was_written(tmp_path: Path, results, record) -> None:
    declared = {"features": ["shaderInt8"]}
    documents = {"summary": {"device": "é", "totals": {}}, "capabilities": {"capabilities": declared}}
    key = record(results, documents)
    with history.open(tmp_path / "runs.db") as database:
        run = database.run(key)
        found = list(database.results(run.info))
    assert {one.case: one for one in found if one.status != Status.TIMEOUT} == {
        one.case: one for one in results if one.status != Status.TIMEOUT
    }
    lanes = {one.case: one.evidence for one in results}
    assert {one.case: one.evidence for one in found} == lanes, "what results are not compared by"
    assert [one.detail for one in found if one.status == Status.TIMEOUT] == ["half a ? pair, \x00 and ∞"]
    assert run.documents == documents
    assert run.declared == declared
    assert (run.info.device, run.info.seed, run.info.seconds, run.info.finished) == ("Device ∞", 3, 1.5, True)


def test_results_can_be_iterated_twice_and_looked_up(tmp_path: Path, results, record) -> None:
    key = record(results)
    with history.open(tmp_path / "runs.db") as database:
        found = database.run(key).results
        assert found is not None
        assert len(list(found)) == len(list(found)) == len(results)
        assert found.statuses() == {one.case: one.status for one in results}
        wanted = [results[0].case, results[1].case, "no.such.case"]
        assert found.of(wanted) == {one.case: one for one in results[:2]}
        assert found.of([]) == {}


def test_a_result_replaces_an_earlier_one(tmp_path: Path, make_info) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        writer = database.begin(make_info())
        writer.add([Result("a.b", Status.FAIL, detail="first")])
        writer.add([Result("a.b", Status.PASS), Result("a.c", Status.PASS)])
        assert {one.case: one.status for one in database.results(writer.id)} == {
            "a.b": Status.PASS,
            "a.c": Status.PASS,
        }


def test_an_unfinished_run_has_counts(tmp_path: Path, results, make_info) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        database.begin(make_info()).add(results)
    with history.open(tmp_path / "runs.db") as database:
        (info,) = database.runs()
    assert not info.finished
    assert info.counts == {"Pass": 1, "Fail": 1, "Undefined": 1, "NotSupported": 2, "Crash": 1, "Timeout": 1}


def test_runs_are_listed_latest_first_and_found_by_name(tmp_path: Path, record) -> None:
    days = {day: record((), started=f"2026-01-0{day}T00:00:00+00:00") for day in (2, 3, 1)}
    probe = record((), kind=RunKind.PROBE, device="Other", started="2026-02-01T00:00:00+00:00")
    with history.open(tmp_path / "runs.db") as database:
        assert [info.id for info in database.runs()] == [probe, days[3], days[2], days[1]]
        assert [info.id for info in database.runs(device="oTHER")] == [probe]
        assert database.run("latest").info.id == probe
        assert database.run("latest~1").info.id == days[3]
        assert database.run("latest~2", kind=RunKind.CONFORM).info.id == days[1]
        assert database.run(days[2].upper()[:7]).info.id == days[2]
        with pytest.raises(InvalidInput, match=r"only 4 runs .* so no latest~9"):
            database.run("latest~9")
        with pytest.raises(InvalidInput, match="has no run 'x'"):
            database.run("x")


def test_an_ambiguous_prefix_is_refused(tmp_path: Path, record, monkeypatch) -> None:
    keys = iter(["abcd0001", "abcd0001", "abcd0002"])
    monkeypatch.setattr("vkgroup.outputs.history.database.secrets.token_hex", lambda _: next(keys))
    assert [record(()), record(())] == ["abcd0001", "abcd0002"]
    with history.open(tmp_path / "runs.db") as database:
        with pytest.raises(InvalidInput, match=r"2 runs .* begin with 'abcd'"):
            database.run("abcd")
        assert database.run("abcd0002").info.id == "abcd0002"


def test_a_resumed_run_continues_the_run_of_the_same_source(tmp_path: Path, results, make_info) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        first = database.begin(make_info(source="/a"))
        first.add(results[:2])
        other = database.begin(make_info(source="/b"), resume=True)
        again = database.begin(make_info(source="/a", started="2026-03-03T00:00:00+00:00"), resume=True)
        again.add(results)
        assert first.id == again.id != other.id
        assert len(list(database.results(first.id))) == len(results)


def test_names_and_details_are_stored_once(tmp_path: Path, record) -> None:
    cases = [f"arithmetic.compute.operation{number}.float.all.exact" for number in range(4000)]
    results = [Result(case, Status.NOT_SUPPORTED, detail="needs " + "x" * 200) for case in cases]
    record(results)
    first = (tmp_path / "runs.db").stat().st_size
    for _ in range(4):
        record(results)
    more = (tmp_path / "runs.db").stat().st_size - first
    assert more / (4 * len(cases)) < 25, "bytes a further result"


def test_a_removed_run_removes_unshared_rows(tmp_path: Path, results, record) -> None:
    gone, kept = record(results), record(results[:1])
    with history.open(tmp_path / "runs.db", write=True) as database:
        assert database.remove(gone).id == gone
        assert [info.id for info in database.runs()] == [kept]
        assert list(database.results(kept)) == list(results[:1])
    connection = sqlite3.connect(tmp_path / "runs.db")
    assert connection.execute("SELECT text FROM case_name").fetchall() == [(results[0].case,)]
    assert connection.execute("SELECT count(*) FROM detail").fetchone() == (0,)
    connection.close()


def test_a_run_that_is_removed_while_it_is_written_is_an_error(tmp_path: Path, results, make_info) -> None:
    with history.open(tmp_path / "runs.db", write=True) as database:
        writer = database.begin(make_info())
        database.remove(writer.id)
        with pytest.raises(DatabaseError, match="removed while it was being written"):
            writer.add(results)
        with pytest.raises(DatabaseError, match="removed while it was being written"):
            writer.finish(1.0, {})

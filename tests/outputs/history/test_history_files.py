"""Runs in files: reading, copying into a database, and export."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Run, Status
from vkgroup.device import Capabilities
from vkgroup.outputs import history
from vkgroup.outputs.exports.folder import export, write_summary
from vkgroup.outputs.history import RunKind
from vkgroup.outputs.history.files import FileResults
from vkgroup.record.journal import read_results
from vkgroup.record.record import Result, format_result

RECORDED = Path(__file__).parents[3] / "bench" / "results"


@pytest.fixture
def folder(tmp_path: Path, results) -> Path:
    """The folder of a finished conformance run."""
    place = tmp_path / "run"
    place.mkdir()
    given = [one for one in results if one.status != Status.TIMEOUT]  # whose text is in no file of ours
    lines = [json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in given]
    (place / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    identity = {"device": "Device", "driver": "driver 1", "seed": 5, "vkgroup": "0.1.0"}
    (place / "run.json").write_text(json.dumps(identity))
    run = Run(
        Capabilities(name="Device", type="cpu", driver_name="driver", driver_info="1"),
        5,
        1,
        "2026-01-01T02:00:00+02:00",
        given,
    )
    run.seconds = 2.5
    write_summary(run, place / "summary.json")
    return place


def test_the_folder_of_a_run_is_read(folder: Path, results) -> None:
    run = history.load(folder)
    assert run.info.id == str(folder)
    assert (run.info.device, run.info.driver, run.info.seed) == ("Device", "driver 1", 5)
    assert (run.info.started, run.info.seconds) == ("2026-01-01T00:00:00+00:00", 2.5)
    assert run.info.finished
    assert run.info.counts["NotSupported"] == 2
    assert list(run.results or ()) == [one for one in results if one.status != Status.TIMEOUT]
    assert history.load(folder / "results.jsonl").info.device == "Device"


def test_a_killed_run_is_read_up_to_its_last_whole_line(folder: Path, results) -> None:
    (folder / "summary.json").unlink()
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"case": "cut.off", "sta')
    run = history.load(folder)
    assert not run.info.finished
    assert (run.info.device, run.info.seed) == ("Device", 5)
    assert sum(run.info.counts.values()) == len(results) - 1
    assert run.results is not None
    wanted = [results[1].case, "cut.off"]
    assert run.results.of(wanted) == {results[1].case: results[1]}


def test_compressed_results_and_repeated_cases_are_read(folder: Path, results) -> None:
    path = folder / "results.jsonl"
    again = json.dumps({**results[0].to_json(), "status": "Crash"}) + "\n"
    (folder / "results.jsonl.xz").write_bytes(lzma.compress(path.read_bytes() + again.encode()))
    path.unlink()
    run = history.load(folder)
    assert run.results is not None
    assert run.results.statuses()[results[0].case] == Status.CRASH
    assert [one.case for one in run.results].count(results[0].case) == 1
    assert len(list(run.results)) == len(results) - 1
    (added,) = history.load_all(folder)
    assert added.info.source == str(folder.resolve())


def test_damaged_files_are_reported(folder: Path, results) -> None:
    path = folder / "results.jsonl"
    path.write_text("no result\n" + path.read_text())
    (folder / "check.json").write_text('{"shader": "a.comp", "findings": []}')
    (folder / "other.json").write_text('{"a": NaN}')
    run, check = history.load_shown(folder)
    assert isinstance(run, history.RunRecord)
    assert run.results is not None
    assert len(list(run.results)) == len(results) - 1
    assert run.results.damaged == 1
    assert isinstance(check, history.CheckFindings)
    with pytest.raises(InvalidInput, match="line 1, is not a result"):
        list(history.load(folder).results or ())


@pytest.mark.parametrize("name", ["case", "status", "seconds", "defined", "undefined", "detail"])
def test_a_line_without_a_required_field_is_damaged(folder: Path, results, name: str) -> None:
    path = folder / "results.jsonl"
    data = results[0].to_json()
    del data[name]
    path.write_text(json.dumps(data) + "\n" + path.read_text())
    with pytest.raises(InvalidInput, match=f"line 1, is not a result.*{name}"):
        list(history.load(folder).results or ())
    with pytest.raises(InvalidInput, match="a line without a result"):
        read_results(path)


def test_files_that_are_no_runs_are_refused(tmp_path: Path, folder: Path, record) -> None:
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "other.json").write_text("{}")
    lines = (folder / "results.jsonl").read_text()
    (folder / "results.jsonl").write_text(lines.replace('"Fail"', '"Perhaps"'))
    record(())
    for path, words in (
        (tmp_path / "list.json", "is no run"),
        (tmp_path / "text.json", "is no JSON"),
        (tmp_path / "empty", "holds no"),
        (tmp_path / "none.json", "cannot be read"),
        (tmp_path / "none.jsonl", "cannot be read"),
        (tmp_path / "runs.db", "is a database: name it with --db"),
    ):
        with pytest.raises(InvalidInput, match=words):
            history.load(path)
    with pytest.raises(InvalidInput, match="holds no run"):
        history.load_all(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="line 2, is not a result"):
        list(history.load(folder).results or ())


def test_the_recorded_runs_of_this_repository_can_be_added(tmp_path: Path) -> None:
    recorded = tmp_path / "nvidia-h200"
    # Without half a million results, which take seconds.
    shutil.copytree(RECORDED / "nvidia-h200", recorded, ignore=shutil.ignore_patterns("*.xz"))
    with history.open(tmp_path / "runs.db", write=True) as database:
        found = history.load_all(recorded)
        added = [database.add(run) for run in found]
        again = [database.add(run) for run in history.load_all(recorded)]
        runs = database.runs()
    assert all(new for _, new in added)
    assert again == [(key, False) for key, _ in added]
    assert {info.kind for info in runs} == set(RunKind)
    assert {info.device for info in runs} == {"NVIDIA H200"}
    assert {info.driver for info in runs} == {"NVIDIA 580.159.04"}
    (conform,) = (info for info in runs if info.kind == RunKind.CONFORM)
    summary = json.loads((RECORDED / "nvidia-h200" / "summary.json").read_text())
    assert conform.counts["Fail"] == summary["totals"]["Fail"]


def test_a_run_is_the_same_after_adding_and_exporting(tmp_path: Path, folder: Path) -> None:
    (folder / "capabilities.json").write_text('{"capabilities": {"features": ["shaderInt8"]}}')
    with history.open(tmp_path / "runs.db", write=True) as database:
        (added,) = history.load_all(tmp_path / "run")
        key, _ = database.add(added)
        files = export(database.run(key), tmp_path / "out")
        with pytest.raises(InvalidInput, match=r"already has results.jsonl"):
            export(database.run(key), tmp_path / "out")
    assert {path.name for path in files} == {path.name for path in folder.iterdir()}
    out, before = history.load(tmp_path / "out"), history.load(folder)
    assert {one.case: one for one in out.results or ()} == {one.case: one for one in before.results or ()}
    lanes = {one.case: one.evidence for one in before.results or ()}
    assert {one.case: one.evidence for one in out.results or ()} == lanes
    assert out.documents == before.documents
    assert out.declared == {"features": ["shaderInt8"]}
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == json.loads(
        (folder / "run.json").read_text()
    )


def test_adding_completes_the_run_that_a_folder_was_recorded_as(tmp_path: Path, folder: Path) -> None:
    (whole,) = history.load_all(folder)
    with history.open(tmp_path / "runs.db", write=True) as database:
        begun = database.begin(whole.info)
        begun.add(list(whole.results or ())[:2])
        key, new = database.add(whole)
        assert (key, new) == (begun.id, True)
        (info,) = database.runs()
        assert info.finished
        assert len(list(database.results(info))) == 6


def test_a_report_reads_the_last_line_of_each_case_and_counts_damaged_lines(tmp_path: Path) -> None:
    lines = [
        format_result(Result("vote.a", Status.FAIL)),
        '{"case": "vote.a"}\n',
        format_result(Result("vote.b", Status.PASS)),
        format_result(Result("vote.a", Status.PASS)),
        "damaged\n",
    ]
    path = tmp_path / "results.jsonl"
    for wanted in ([("vote.b", Status.PASS), ("vote.a", Status.PASS)], [("vote.b", Status.PASS)]):
        path.write_text("".join(lines), "utf-8")
        results = FileResults(path, strict=False)
        assert [(result.case, result.status) for result in results] == wanted
        assert results.damaged == 2
        # Without repeated results: only the line of the second case is valid.
        lines = [line for line in lines if "seconds" not in line or "vote.b" in line]
    path.write_text("damaged\n", "utf-8")
    with pytest.raises(InvalidInput, match="no results"):
        list(FileResults(path, strict=False))

"""``--db``, ``vkgroup history`` and ``vkgroup diff`` from end to end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status
from vkgroup.drivers import CachedDriver
from vkgroup.outputs import history
from vkgroup.outputs.history import DatabaseError, RunInfo, RunKind, RunWriter

RECORDED = Path(__file__).parents[2] / "bench" / "results"
FILTER = "vote.compute.subgroupAll.bool.all.exact*"


def _conform(driver: CachedDriver, out: Path, *more: str) -> int:
    return main(
        ["conform", "--device", str(driver.icd), "--filter", FILTER, "--jobs", "1", "--out", str(out), *more]
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, swiftshader: CachedDriver) -> Path:
    """A folder with a conformance run in ``run`` and in ``runs.db``, and a probe there too."""
    folder = tmp_path_factory.mktemp("recorded")
    database = str(folder / "runs.db")
    assert _conform(swiftshader, folder / "run", "--db", database) == 0
    assert main(["probe", "--device", str(swiftshader.icd), "--db", database]) == 0
    return folder


def _list(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["history", *words, "--json", "-"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_results_of_conform_and_probe_are_recorded(recorded: Path, capsys) -> None:
    probe, conform = _list(capsys, "--db", str(recorded / "runs.db"))
    assert (probe["kind"], conform["kind"]) == ("probe", "conform")
    assert probe["device"] == conform["device"]
    assert probe["driver"] == conform["driver"]
    assert probe["finished"]
    assert conform["finished"]
    summary = json.loads((recorded / "run" / "summary.json").read_text())
    assert conform["counts"] == {name: number for name, number in summary["totals"].items() if number}
    assert conform["source"] == str((recorded / "run").resolve())
    with history.open(recorded / "runs.db") as database:
        run, seen = database.run(conform["id"]), database.run(probe["id"])
        folder = history.load(recorded / "run")
        assert run.documents["summary"] == summary == folder.documents["summary"]
        assert {one.case: one for one in run.results or ()} == {one.case: one for one in folder.results or ()}
        assert run.declared == seen.declared, "a conformance run keeps what its device declares"


def test_a_run_in_a_folder_equals_the_run_in_the_database(recorded: Path, capsys) -> None:
    words = ["diff", str(recorded / "run"), "latest", "--kind", "conform", "--db", str(recorded / "runs.db")]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert (
        "0 newly failing, 0 appeared and failing, 0 fixed, 0 appeared, 0 vanished, 0 otherwise changed"
        in printed
    )
    assert "Capabilities: nothing changed" in printed


def test_a_resumed_run_continues_the_recorded_run(recorded: Path, swiftshader: CachedDriver, capsys) -> None:
    path = recorded / "runs.db"
    (before,) = _list(capsys, "--db", str(path), "--kind", "conform")
    connection = sqlite3.connect(path)
    with connection:  # as if the run had been killed half-way
        connection.execute("DELETE FROM result WHERE case_id % 2")
        connection.execute("UPDATE run SET finished = 0, counts = NULL WHERE kind = 'conform'")
    connection.close()
    (killed,) = _list(capsys, "--db", str(path), "--kind", "conform")
    assert not killed["finished"]
    assert 0 < sum(killed["counts"].values()) < sum(before["counts"].values())
    assert _conform(swiftshader, recorded / "run", "--db", str(path), "--resume") == 0
    (after,) = _list(capsys, "--db", str(path), "--kind", "conform")
    session = {"seconds": 0, "started": ""}
    assert after | session == before | session
    assert main(["history", "add", str(path), str(recorded / "run")]) == 0
    assert f"{after['id']}  there already" in capsys.readouterr().out


def test_a_database_error_does_not_end_the_run(
    tmp_path: Path, recorded: Path, swiftshader: CachedDriver, monkeypatch, capsys
) -> None:
    def fail(self: RunWriter, results: Sequence[Result]) -> None:
        raise DatabaseError("the disk is full")

    database, out = str(tmp_path / "runs.db"), recorded / "run"
    monkeypatch.setattr(RunWriter, "add", fail)
    assert _conform(swiftshader, out, "--db", database, "--resume") == 2
    captured = capsys.readouterr()
    assert "results.jsonl" in captured.out, "the run was reported"
    advice = f"the disk is full\nthe run itself is complete: vkgroup history add {database} {out}"
    assert advice in captured.err
    monkeypatch.undo()
    assert main(["history", "add", database, str(out)]) == 0
    (info,) = _list(capsys, "--db", database)
    assert info["finished"]
    assert sum(info["counts"].values()) == len((out / "results.jsonl").read_text().splitlines())


def test_a_database_that_cannot_be_opened_is_reported_before_the_run(
    tmp_path: Path, swiftshader: CachedDriver, capsys
) -> None:
    (tmp_path / "runs.db").write_text("no database, " * 50)
    assert _conform(swiftshader, tmp_path / "run", "--db", str(tmp_path / "runs.db")) == 2
    assert "is not an SQLite database" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_recorded_runs_are_added_listed_exported_and_removed(tmp_path: Path, capsys, monkeypatch) -> None:
    database = str(tmp_path / "runs.db")
    monkeypatch.setenv("VKGROUP_DB", database)
    assert main(["history", "add", database, str(RECORDED / "nvidia-h200")]) == 0
    assert main(["history", "add", database, str(RECORDED / "nvidia-h200" / "probe.json")]) == 0
    assert "there already: probe of NVIDIA H200" in capsys.readouterr().out
    assert main(["history", "--kind", "bench", "--device", "h200"]) == 0
    printed = capsys.readouterr().out
    assert "691 timed" in printed
    assert "probe " not in printed
    (probe,) = _list(capsys, "--kind", "probe")
    assert main(["history", "export", database, probe["id"], "--out", str(tmp_path / "out")]) == 0
    recorded = json.loads((RECORDED / "nvidia-h200" / "probe.json").read_text())
    (tmp_path / "out" / "probe.json").write_text("{}")
    for option, code in (([], 2), (["--overwrite"], 0)):
        words = ["history", "export", database, probe["id"], "--out", str(tmp_path / "out"), *option]
        assert main(words) == code
    assert json.loads((tmp_path / "out" / "probe.json").read_text()) == recorded
    assert main(["history", "remove", database, probe["id"]]) == 0
    assert _list(capsys, "--kind", "probe") == []
    assert main(["history", "--kind", "probe"]) == 0
    assert "No such run" in capsys.readouterr().out


def _write(path: Path, started: str, statuses: dict[str, Status]) -> None:
    info = RunInfo("", RunKind.CONFORM, "Device", "driver", "0.1.0", started, seed=0)
    with history.open(path, write=True) as database:
        writer = database.begin(info)
        writer.add([Result(case, status, detail=f"why {case}") for case, status in statuses.items()])
        writer.finish(1.0, {})


def test_diff_lists_new_failures_and_exits_with_1(tmp_path: Path, capsys) -> None:
    path = tmp_path / "runs.db"
    both = {f"same.{number}": Status.PASS for number in range(4)}
    _write(path, "2026-01-01T00:00:00+00:00", both | {"a.bad": Status.PASS, "a.good": Status.FAIL})
    _write(path, "2026-01-02T00:00:00+00:00", both | {"a.bad": Status.FAIL, "a.new": Status.CRASH})
    assert main(["diff", "--db", str(path)]) == 1
    printed = capsys.readouterr().out
    assert (
        "Cases: 1 newly failing, 1 appeared and failing, 0 fixed, 0 appeared, 1 vanished, "
        "0 otherwise changed, 4 the same" in printed
    )
    assert "Appeared and failing:\n  not there → Crash  a.new\n      why a.new" in printed
    assert "Pass → Fail  a.bad\n      why a.bad" in printed
    assert main(["diff", "latest", "latest~1", "--db", str(path), "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["case"] for one in data["cases"]["fixed"]] == ["a.bad"]
    assert data["newly_fails"] is False


@pytest.mark.parametrize("limit", ["-1", "1.5", "many", "", "1234567890"])
def test_a_limit_that_is_no_number_of_lines_is_refused(limit: str, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(["diff", "a", "b", f"--limit={limit}"])
    assert left.value.code == 2
    assert "--limit: " in capsys.readouterr().err


def test_diff_shows_capabilities_and_speed(capsys) -> None:
    h200 = RECORDED / "nvidia-h200"
    assert main(["diff", str(RECORDED / "lavapipe-22.3.6"), str(RECORDED / "lavapipe-25.0.7")]) == 0
    assert "more (--limit 0 shows all)" in capsys.readouterr().out
    words = ["diff", str(RECORDED / "lavapipe-22.3.6"), str(RECORDED / "lavapipe-25.0.7"), "--limit", "0"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "  + VK_KHR_shader_subgroup_rotate: " in printed
    assert "  driver_info: Mesa 22.3.6 (LLVM 15.0.6) → Mesa 25.0.7" in printed
    assert "--limit 0" not in printed
    words = ["diff", str(h200 / "bench_sizes.json"), str(h200 / "bench.json")]
    assert main([*words, "--threshold", "5"]) == 0
    printed = capsys.readouterr().out
    assert "0 slower, 1 faster" in printed
    assert "0.697  faster" in printed


def test_a_report_shows_runs_of_a_database_beside_files(tmp_path: Path, capsys) -> None:
    path, out = tmp_path / "runs.db", tmp_path / "report.html"
    _write(path, "2026-01-01T00:00:00+00:00", {"a.bad": Status.PASS})
    _write(path, "2026-01-02T00:00:00+00:00", {"a.bad": Status.FAIL, "a.new": Status.CRASH})
    runs = [one["id"] for one in _list(capsys, "--db", str(path))]
    probe = RECORDED / "swiftshader" / "probe.json"
    assert main(["report", "latest~1", "latest", str(probe), "--db", str(path), "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 2 runs, 1 probe (")
    page = out.read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert [run["place"] for run in data["runs"]] == runs[::-1]
    assert data["runs"][1]["failures"]["a.bad"]["words"] == "why a.bad"
    (compared,) = data["compared"]["cases"]
    assert {name: len(blocks) for name, blocks in compared["lists"].items() if blocks} == {
        "newly_failing": 1,
        "appeared_failing": 1,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["history"], "no database given: use --db FILE, or set VKGROUP_DB"),
        (["history", "--db", "none.db"], "there is no database none.db"),
        (["diff", "aaaa", "bbbb"], "no database given"),
        (["diff", "no/such/folder", "latest"], "there is no no/such/folder"),
        (["report", "latest"], "no database given"),
        (["report", "latest", "--db", "none.db"], "there is no database none.db"),
        (["history", "add", "runs.db", "nowhere"], "nowhere cannot be read"),
        (["history", "export", "none.db", "latest", "--out", "x"], "there is no database none.db"),
    ],
)
def test_bad_input_exits_with_2_and_names_the_remedy(
    tmp_path: Path, monkeypatch, capsys, words, said
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_locked_database_exits_with_2(tmp_path: Path, monkeypatch, capsys) -> None:
    path = tmp_path / "runs.db"
    _write(path, "2026-01-01T00:00:00+00:00", {"a.b": Status.PASS})
    monkeypatch.setattr("vkgroup.outputs.history.connection.BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert main(["history", "remove", str(path), "latest"]) == 2
    other.close()
    assert "locked for 0.05 s by another program" in capsys.readouterr().err

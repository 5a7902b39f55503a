"""Conformance runs on compile-only devices: statuses, evidence, files and reproduction folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from mutants.driver_errors import FLAG, aborted_on_elect, killed_when_used_up, rejected_on_elect

from vkgroup import conformance
from vkgroup.cli.main import main
from vkgroup.conformance.expectations import read_expectations
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.exports.baseline import save_baseline
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.issue import write_issue
from vkgroup.record.record import Status
from vkgroup.workers import pool, worker_process
from vkgroup.workers.opening import select

FILTER = "basic.compute.*"


def run(transform=None, filters=(FILTER,)):
    return conformance.run(select("turnip:740"), filters=filters, jobs=1, transform=transform)


@pytest.fixture(scope="module")
def compiled(turnip: CachedDriver):
    """Return a run in which the driver compiles every case that it declares."""
    return run()


def test_cases_are_compiled_and_never_pass(compiled) -> None:
    assert set(compiled.counts) == {Status.COMPILED, Status.NOT_SUPPORTED}
    assert compiled.counts[Status.COMPILED] > 50
    assert compiled.failures == []
    totals = compiled.summarize()["totals"]
    assert list(totals) == ["Compiled", "Rejected", "NotSupported", "Crash", "Timeout"]
    assert totals["Compiled"] == compiled.counts[Status.COMPILED]
    assert all(result.defined == 0 for result in compiled.results)


def test_a_worker_that_has_used_much_memory_is_replaced(
    turnip: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def counted(*arguments):
        started.append(arguments)
        return worker_process.start_worker(*arguments)

    monkeypatch.setattr(pool, "start_worker", counted)
    filters = ("basic.compute.subgroupElect.bool.all.*",)
    before = run(filters=filters)
    assert len(started) == 1
    monkeypatch.setattr(pool, "MEMORY_LIMIT", 1)
    assert run(filters=filters).counts == before.counts
    assert len(started) > 3


def test_a_shader_that_the_driver_rejects_is_rejected_with_its_error(compiled) -> None:
    rejected = {result.case: result for result in run(rejected_on_elect).results}
    elect = [name for name in rejected if "subgroupElect" in name]
    assert elect
    for name, result in rejected.items():
        before = next(r.status for r in compiled.results if r.case == name)
        if "subgroupElect" in name and before is Status.COMPILED:
            assert result.status is Status.REJECTED
            assert "VK_ERROR_UNKNOWN" in result.detail
        elif "subgroupElect" not in name:
            assert result.status is before


def test_an_assertion_of_the_driver_is_the_evidence_of_a_crash(turnip: CachedDriver) -> None:
    crashed = run(aborted_on_elect, ("basic.compute.subgroupElect.bool.all.exact",))
    assert crashed.counts[Status.CRASH] > 0
    assert not crashed.counts[Status.REJECTED]
    for result in crashed.failures:
        assert "subgroupElect" in result.case
        assert "killed by signal 6" in result.detail
        assert "driver.c:1: elect: Assertion `0' failed." in result.detail


def test_a_crash_does_not_count_if_the_batch_compiles_in_a_new_process(
    compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mesa's library in place of RADV's kernel driver crashes after some hundred shaders in one process."""
    killed = tmp_path / "killed"
    monkeypatch.setenv(FLAG, str(killed))
    assert run(killed_when_used_up).counts == compiled.counts
    assert killed.exists()


def test_a_batch_that_crashes_is_reported_and_can_be_repeated(
    turnip: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Turnip 26.1.6 crashes at some shaders with many exclusive scans: finding turnip-exclusive-scans."""
    names = [f"clustered.compute.subgroupClusteredXor.i16vec3.lower_half.exact.c{n}" for n in (1, 16, 64, 8)]
    for operation in ("Add", "And", "Max", "Min", "Mul", "Or"):
        for operands in ("exact", "special") if operation in ("Max", "Min") else ("exact",):
            names.append(f"arithmetic.compute.subgroupExclusive{operation}.i16vec3.lower_half.{operands}")
    chosen = [argument for name in names for argument in ("--filter", name)]
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        assert main(["conform", "--device", "turnip:830", "--jobs", jobs, *chosen, "--out", str(out)]) == 0
        text = capsys.readouterr().out
        assert "One batch of cases made the driver crash or hang, but smaller batches" in text
        assert "1: the process was killed by signal 11" in text
        (batch,) = json.loads((out / "summary.json").read_text())["failed_batches"]
        assert sorted(batch["cases"]) == sorted(names)
        chosen = ["--caselist", str(out / "failed-batches" / "1.txt")]


def test_the_command_exits_with_0_and_says_that_nothing_was_executed(
    turnip: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, junit, report = tmp_path / "out", tmp_path / "junit.xml", tmp_path / "report.html"
    arguments = ["--device", "turnip:740", "--filter", FILTER, "--jobs", "1", "--out", str(out)]
    arguments += ["--junit", str(junit), "--report", str(report)]
    assert main(["conform", *arguments]) == 0
    text = capsys.readouterr().out
    assert "none executed" in text
    assert "Pass" not in text
    assert json.loads((out / "summary.json").read_text())["totals"]["Compiled"] > 50
    assert 'failures="0"' in junit.read_text()
    assert "Compiled" in report.read_text()


def test_a_baseline_with_a_failure_that_compiles_reports_an_improvement(
    turnip: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(case.name for case in conformance.select(("basic.compute.subgroupElect*",)))
    baseline = tmp_path / "baseline.txt"
    baseline.write_text(f"{name},Fail\n")
    arguments = ["--device", "turnip:740", "--filter", name, "--jobs", "1", "--out", str(tmp_path / "out")]
    main(["conform", *arguments, "--baseline", str(baseline)])
    assert "UnexpectedImprovement(Skip)" in capsys.readouterr().out


def test_a_baseline_of_rejections_makes_the_next_run_succeed(turnip: CachedDriver, tmp_path: Path) -> None:
    rejected = run(rejected_on_elect, ("basic.compute.subgroupElect.*",))
    assert rejected.counts[Status.REJECTED]
    outcomes = RunOutcomes(rejected, read_expectations())
    assert not outcomes.success
    save_baseline(tmp_path / "baseline.txt", outcomes)
    assert RunOutcomes(rejected, read_expectations([tmp_path / "baseline.txt"])).success


def test_a_rejected_case_is_shrunk_to_a_simpler_one(turnip: CachedDriver, tmp_path: Path) -> None:
    case = "basic.compute.subgroupElect.bool.nested.exact"
    made = make(select("turnip:740"), case, tmp_path, transform=rejected_on_elect, shrink=True)
    assert (made.case, made.status) == ("basic.compute.subgroupElect.bool.all.exact", Status.REJECTED)
    record = read(tmp_path)
    assert "part" not in record  # only whole cases are compiled
    text = write_issue(tmp_path, record).read_text()
    assert f"vkgroup conform --device {turnip.name}:740 --filter {made.case}\n" in text
    assert "VK_ERROR_UNKNOWN" in text


def test_a_reproduction_folder_is_repeated_on_the_device_and_on_another(
    turnip: CachedDriver, swiftshader: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "repro"
    case = "vote.compute.subgroupAll.bool.all.exact"
    assert main(["conform", "--device", "turnip:740", "--repro", case, str(folder)]) == 0
    assert f"--device {turnip.name}:740" in (folder / "README.md").read_text()
    assert not (folder / "expected").exists()
    capsys.readouterr()
    assert main(["run", str(folder), "--device", "turnip:740"]) == 0
    assert "executes nothing" in capsys.readouterr().out
    assert main(["run", str(folder), "--device", swiftshader.name]) == 0
    assert "Pass" in capsys.readouterr().out


def test_a_process_that_executes_refuses_the_device(
    turnip: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    shader = Path(os.environ["VKGROUP_CACHE"]) / "empty.comp"
    shader.write_text("#version 450\nvoid main() {}\n")
    assert main(["run", str(shader), "--groups", "1", "--device", "turnip:740"]) == 3
    assert "compile-only" in capsys.readouterr().err


def test_globs_run_each_device(
    turnip: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["--device", "turnip:73*,turnip:618", "--filter", "basic.compute.subgroupElect*"]
    assert main(["conform", *arguments, "--jobs", "2", "--out", str(out)]) == 0
    assert len(list(out.glob("*/summary.json"))) == 2


def test_statistics_of_each_case_are_recorded(turnip: CachedDriver, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filters = ["--filter", "arithmetic.compute.subgroupAdd.*int.all.exact"]
    filters += ["--filter", "shuffle.fragment.subgroupShuffle.uint.all.exact.last"]
    assert main(["conform", "--device", "turnip:740", *filters, "--statistics", "--out", str(out)]) == 0
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    compiled = [result for result in results if result["status"] == "Compiled"]
    assert compiled
    for result in compiled:
        assert result["statistics"]["instructions"] > 10
        assert result["statistics"]["vector_registers"] > 0
    assert json.loads((out / "summary.json").read_text())["statistics"]


def test_statistics_need_a_compile_only_device(
    tmp_path: Path, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--filter", FILTER, "--out", str(tmp_path / "out"), "--statistics"]
    assert main(["conform", "--device", swiftshader.name, *options]) == 2
    assert "only compile-only devices record statistics" in capsys.readouterr().err
    assert not (tmp_path / "out" / "results.jsonl").exists()

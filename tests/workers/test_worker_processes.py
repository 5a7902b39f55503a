"""Worker processes: a crash or a hang affects one case, and results of ended runs are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mutants.driver_errors import (
    FLAG,
    crash_on_elect,
    hang_on_elect,
    killed_on_elect,
    pipeline_without_end_on_elect,
    time_out_on_elect,
    wrong_vote_once_and_killed_on_elect,
)
from process_states import alive

import vkgroup.conformance as conformance
from vkgroup.base import processes
from vkgroup.base.errors import NoDevice
from vkgroup.conformance import Status, select
from vkgroup.record.journal import RESULTS
from vkgroup.workers import worker_process
from vkgroup.workers.opening import select as select_device

# One case elects, and the others do not. They share pattern and shape, and so a batch. Each failure in a
# batch starts a worker, so tests of the first tier have small batches.
NEIGHBOURS = ("shuffle.compute.*.int.all.exact.*", "basic.compute.subgroupElect.bool.all.exact")
FEW = ("shuffle.compute.subgroupShuffle.int.all.exact.*", "basic.compute.subgroupElect.bool.all.exact")
GUILTY = "basic.compute.subgroupElect.bool.all.exact"

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")


def run(tmp_path, device="swiftshader", filters=FEW, **options):
    return conformance.run(select_device(device), filters=filters, jobs=2, out=tmp_path / "run", **options)


def verdicts(found):
    return {result.case: result for result in found.results if result.status != Status.NOT_SUPPORTED}


@pytest.mark.parametrize(
    ("filters", "transform"),
    [(FEW, crash_on_elect), pytest.param(NEIGHBOURS, killed_on_elect, marks=pytest.mark.slow)],
)
def test_a_crash_affects_one_case(tmp_path, filters, transform) -> None:
    found = verdicts(run(tmp_path, filters=filters, transform=transform))
    guilty = found.pop(GUILTY)
    assert guilty.status == Status.CRASH
    assert f"--filter {GUILTY}" in guilty.detail
    assert ("LLVM ERROR" if transform is crash_on_elect else f"signal {int(signal.SIGSEGV)}") in guilty.detail
    assert len(found) > 5
    others = {Status.PASS} if filters == FEW else {Status.PASS, Status.UNDEFINED}
    assert {result.status for result in found.values()} == others


def test_a_failure_near_a_crash_is_judged_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(FLAG, str(tmp_path / "flag"))
    voting = "vote.compute.subgroupAll.bool.data_mask.exact"
    found = conformance.run(
        select_device("swiftshader"),
        filters=(GUILTY, voting),
        jobs=2,
        transform=wrong_vote_once_and_killed_on_elect,
    )
    assert (tmp_path / "flag").exists()
    results = verdicts(found)
    assert results[GUILTY].status == Status.CRASH
    assert results[voting].status == Status.PASS
    assert "judged again after it had failed while another worker died" in results[voting].detail


def test_a_failure_of_a_run_without_crashes_is_final(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(FLAG, str(tmp_path / "flag"))
    found = conformance.run(
        select_device("swiftshader"),
        filters=("vote.compute.subgroupA[ln][ly].bool.data_mask.exact",),
        jobs=2,
        transform=wrong_vote_once_and_killed_on_elect,
    )
    assert [result.case for result in found.failures] == ["vote.compute.subgroupAll.bool.data_mask.exact"]


@pytest.mark.parametrize(
    ("device", "filters", "transform"),
    [
        ("swiftshader", FEW, time_out_on_elect),
        pytest.param("swiftshader", NEIGHBOURS, hang_on_elect, marks=pytest.mark.slow),
        pytest.param("reference:8", NEIGHBOURS, hang_on_elect, marks=pytest.mark.slow),
    ],
)
def test_a_hang_affects_one_case(tmp_path, device, filters, transform) -> None:
    """The slow tests wait for a real hang; the first has only the error that the wait would end with."""
    found = verdicts(run(tmp_path, device, filters, transform=transform, timeout=2.0))
    assert found.pop(GUILTY).status == Status.TIMEOUT
    assert len(found) > 5
    others = {Status.PASS} if filters == FEW else {Status.PASS, Status.UNDEFINED}
    assert {result.status for result in found.values()} == others


def test_a_pipeline_without_end_is_a_timeout(tmp_path) -> None:
    """The driver is stuck while it creates a pipeline, where no time limit of a dispatch applies."""
    found = run(tmp_path, filters=(GUILTY,), transform=pipeline_without_end_on_elect, timeout=1.0)
    assert verdicts(found)[GUILTY].status == Status.TIMEOUT


def test_every_case_has_one_line(tmp_path) -> None:
    found = run(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "run" / RESULTS).read_text().splitlines()]
    assert sorted(line["case"] for line in lines) == sorted(case.name for case in select(FEW))
    assert len(lines) == len(found.results)


def test_a_killed_run_is_resumed(tmp_path) -> None:
    command = [
        sys.executable, "-m", "vkgroup", "conform", "--device", "swiftshader", "--jobs", "2",
        "--filter", "arithmetic.compute.*.all.exact", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    results = tmp_path / "run" / RESULTS
    deadline = time.monotonic() + 60

    def executed() -> int:
        text = results.read_text() if results.exists() else ""
        return sum('"Pass"' in line for line in text.splitlines())

    while executed() < 40:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = results.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=120)
    assert resumed.returncode == 0, resumed.stderr
    after = results.read_bytes()
    assert after.startswith(whole)
    cases = [json.loads(line)["case"] for line in after.splitlines()]
    assert sorted(cases) == sorted(case.name for case in select(("arithmetic.compute.*.all.exact",)))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_verdicts_and_lanes(tmp_path) -> None:
    def lanes(folder, seed):
        found = conformance.run(
            select_device("swiftshader"), filters=("shuffle.*.uint.*",), seed=seed, out=tmp_path / folder
        )
        return {r.case: (r.status, r.defined, r.undefined) for r in found.results}

    first = lanes("one", 5)
    assert lanes("two", 5) == first
    assert lanes("three", 6) != first


def children(pid: int) -> set[int]:
    """The running child processes of a process."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.add(int(status.parent.name))
    return found


def workers_of(supervisor: int) -> set[int]:
    """The running child processes of a supervised command."""
    return {worker for command in children(supervisor) for worker in children(command)}


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_run(tmp_path, ending) -> None:
    command = [
        sys.executable, "-m", "vkgroup", "conform", "--device", "swiftshader", "--jobs", "2",
        "--filter", "arithmetic.*", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A process that a shell starts in the background ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    results = tmp_path / "run" / RESULTS
    # The command is a child of its supervisor, and the workers are its children.
    while len(workers := workers_of(process.pid)) < 2 or not results.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(ending)
    process.wait(timeout=30)
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = results.read_text().splitlines()
    assert not any('"Crash"' in line for line in lines)


def test_files_in_the_current_folder_are_not_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('not the standard library')")
    monkeypatch.chdir(tmp_path)
    found = run(tmp_path)
    assert not found.failures


def test_workers_that_cannot_start_end_in_a_summary(tmp_path) -> None:
    """All workers are killed at their start: the run prints a summary and how to continue."""
    paths = [str(Path(__file__).parent / "killed_workers"), os.environ["PYTHONPATH"]]
    command = [
        sys.executable, "-m", "vkgroup", "conform", "--device", "swiftshader", "--jobs", "3",
        "--filter", "vote.compute.subgroupAll.bool.*", "--out", "run",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "because no worker process starts" in done.stdout
    assert "continue with the same command and --resume --out run" in done.stdout
    assert "vkgroup: No worker process starts: the process was killed by signal 9" in done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["missing"]
    again = subprocess.run([*command, "--resume"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0


@pytest.mark.parametrize("early", [False, True], ids=["after_the_setup", "before_the_setup"])
def test_a_worker_that_cannot_start_is_an_error(early: bool, tmp_path, monkeypatch) -> None:
    """A worker may end before or after vkgroup has written the setup to its pipe."""
    honest = processes.command
    original = worker_process.send

    def late(stream, message) -> None:
        if early:
            time.sleep(0.5)
        original(stream, message)

    monkeypatch.setattr(worker_process, "send", late)

    def command(module: str, *arguments: str) -> list[str]:
        worker = module == "vkgroup.workers.worker"
        return [sys.executable, "-c", "raise SystemExit(7)"] if worker else honest(module, *arguments)

    monkeypatch.setattr(processes, "command", command)
    with pytest.raises(NoDevice, match="exit code 7"):
        run(tmp_path)
    lines = (tmp_path / "run" / RESULTS).read_text().splitlines()
    assert {json.loads(line)["status"] for line in lines} <= {"NotSupported"}

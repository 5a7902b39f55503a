"""Early start of workers: they start while the batches of a long run are planned."""

from __future__ import annotations

import threading
import time
from importlib import import_module
from pathlib import Path

import pytest

from vkgroup.conformance import Status, run, select
from vkgroup.conformance.run import Setup
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.scheduler import LocalScheduler
from vkgroup.workers.worker_process import WorkerProcess

# The package has a function of this name.
conformance_run = import_module("vkgroup.conformance.run")

CASES = select(("vote.compute.*.bool.*", "vote.compute.subgroupAll.bool.all.exact.size128"))


@pytest.fixture
def device(swiftshader):
    return select_device("swiftshader")


@pytest.fixture
def started(monkeypatch):
    """The `time.monotonic` of each worker's start; a run of any length starts workers early."""
    monkeypatch.setattr(conformance_run, "MANY_CASES", 1)
    times, honest = [], WorkerProcess.__init__

    def begin(self, *arguments) -> None:
        times.append(time.monotonic())
        honest(self, *arguments)

    monkeypatch.setattr(WorkerProcess, "__init__", begin)
    return times


def verdicts(found):
    return sorted((result.case, result.status) for result in found.results)


@pytest.mark.parametrize("together", [False, True])
def test_workers_start_while_batches_are_planned(together, device, started, monkeypatch) -> None:
    alone = verdicts(run(device, cases=CASES, isolate=False))
    planned, honest = [], conformance_run.plan.batches

    def slow(*arguments, **options):
        deadline = time.monotonic() + 20.0
        while len(started) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        planned.append(time.monotonic())
        return honest(*arguments, **options)

    monkeypatch.setattr(conformance_run.plan, "batches", slow)
    scheduler = LocalScheduler.of([device, device], 1) if together else None
    assert verdicts(run(device, cases=CASES, jobs=2, scheduler=scheduler)) == alone
    assert len(started) == 2
    assert max(started) <= planned[0]
    assert {status for _, status in alone} >= {Status.PASS, Status.NOT_SUPPORTED}


@pytest.mark.parametrize("together", [False, True])
def test_a_plan_that_fails_ends_the_workers(together, device, started, monkeypatch) -> None:
    def wrong(*arguments, **options):
        raise RuntimeError("no plan")

    monkeypatch.setattr(conformance_run.plan, "batches", wrong)
    scheduler = LocalScheduler.of([device, device], 1) if together else None
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="no plan"):
        run(device, cases=CASES, jobs=2, scheduler=scheduler)
    deadline = time.monotonic() + 20.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_resumed_complete_run_starts_no_worker(device, started, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = run(device, cases=CASES, jobs=1, out=out)
    assert len(started) == 1
    assert verdicts(run(device, cases=CASES, jobs=1, out=out, resume=True)) == verdicts(first)
    assert len(started) == 1


def test_workers_that_started_early_and_have_no_batch_end(device) -> None:
    before = threading.active_count()
    assert list(LocalScheduler.of([device], 2).run(Setup(device, 0, 20.0), (), start_early=True)) == []
    deadline = time.monotonic() + 20.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_run_does_not_wait_for_workers_to_close(device, monkeypatch) -> None:
    """NVIDIA's driver takes more than one second to close a process."""
    monkeypatch.setattr("vkgroup.workers.pool.LEAVE_SECONDS", 0.1)
    left = threading.Event()
    honest = WorkerProcess.close

    def slow(self) -> None:
        left.wait(20.0)
        honest(self)

    monkeypatch.setattr(WorkerProcess, "close", slow)
    scheduler, found = LocalScheduler.of([device], 1), []
    batches = list(conformance_run.plan.batches(CASES[:1], scheduler.capabilities))
    start = time.monotonic()
    for results in scheduler.run(Setup(device, 0, 20.0), batches):
        found.extend(results)
    assert time.monotonic() - start < 20.0
    assert not left.is_set()
    left.set()
    assert len(found) == 1

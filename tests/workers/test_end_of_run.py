"""End of a run, also by an error or a signal: results are passed on, and worker processes end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from mutants.driver_errors import internal_error

from vkgroup.base import processes
from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.record.record import TakeResults
from vkgroup.workers import worker_process
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.pool import LocalBackend
from vkgroup.workers.retry import BatchResults, Retry
from vkgroup.workers.scheduler import LocalScheduler, pass_on

GPU = DeviceInfo("/i.json", "nvidia", 0, "NVIDIA H200", "discrete_gpu", "NVIDIA", "5", (1, 4, 0), "ab", 32)
CASES = select(("vote.compute.subgroupAll.bool.*",))[:8]


class FakeWorker:
    """Worker in this process: the first case of a batch fails, the others pass."""

    peak_memory = 0

    def __init__(self, setup: Setup, known: object = None) -> None: ...

    def ask(self, batch: Batch, seconds: float) -> list[Result]:
        statuses = [Status.FAIL] + [Status.PASS] * (len(batch) - 1)
        return [Result(case.name, status) for case, status in zip(batch.cases, statuses, strict=True)]

    def close(self) -> None: ...

    kill = dismiss = signal = close


def run_batches(setup: Setup, jobs: int, batches: list[Batch], take: TakeResults) -> None:
    """Pass the results of batches on as a run does."""
    scheduler = LocalScheduler([setup.device], jobs, Capabilities("fake", setup.device.type))
    pass_on(scheduler.run(setup, batches), scheduler.drain, take)


def test_results_are_split_into_final_ones_and_failures() -> None:
    batch = Batch("subgroup", list(CASES))
    passes = [Result(case.name, Status.PASS) for case in CASES]
    assert BatchResults(batch, passes).split() == (passes, None)
    found = [replace(passes[0], status=Status.CRASH), *passes[1:5], replace(passes[5], status=Status.FAIL)]
    believed, doubtful = BatchResults(batch, found, when=7.0).split()
    assert believed == found[1:5]
    assert doubtful == BatchResults(replace(batch, cases=[CASES[0], CASES[5]]), [found[0], found[5]], 7.0)


@pytest.mark.parametrize("how", [KeyboardInterrupt, OSError])
def test_quarantined_failures_are_passed_on_at_the_end_of_a_run(how, monkeypatch) -> None:
    monkeypatch.setattr(worker_process, "WorkerProcess", FakeWorker)
    batches = [Batch("subgroup", list(CASES[at : at + 2])) for at in range(0, 8, 2)]
    found: list[Result] = []

    def take(results: list[Result]) -> None:
        found.extend(results)
        if len(found) == 3:
            raise how

    with pytest.raises(how):
        run_batches(Setup(GPU, 0, 1.0), 2, batches, take)
    judged = {result.case: result.status for result in found}
    assert sum(status is Status.FAIL for status in judged.values()) >= 3
    for batch in batches[:3]:
        assert [judged[case.name] for case in batch.cases] == [Status.FAIL, Status.PASS]


def test_failures_near_a_crash_are_not_passed_on_by_an_interrupted_run(monkeypatch) -> None:
    crash_now = threading.Event()

    class Crashing(FakeWorker):
        def ask(self, batch: Batch, seconds: float) -> list[Result]:
            if batch.cases[0] is CASES[0]:
                crash_now.wait(20.0)
                raise worker_process.WorkerDied("gone")
            return super().ask(batch, seconds)

    monkeypatch.setattr(worker_process, "WorkerProcess", Crashing)
    found: list[Result] = []

    def take(results: list[Result]) -> None:
        found.extend(results)
        crash_now.set()

    submit = LocalBackend.submit

    def interrupted(self: LocalBackend, retry: Retry, alone: bool) -> bool:
        if alone:
            raise KeyboardInterrupt
        return submit(self, retry, alone)

    monkeypatch.setattr(LocalBackend, "submit", interrupted)
    batches = [Batch("subgroup", list(CASES[at : at + 2])) for at in range(0, 4, 2)]
    with pytest.raises(KeyboardInterrupt):
        run_batches(Setup(GPU, 0, 1.0), 2, batches, take)
    assert [(result.case, result.status) for result in found] == [(CASES[3].name, Status.PASS)]


def test_batches_alone_run_alone_on_a_device_that_is_named_twice(monkeypatch) -> None:
    at_work: list[str] = []
    together: set[tuple[str, ...]] = set()
    lock, second = threading.Lock(), threading.Event()

    class Noting(FakeWorker):
        def ask(self, batch: Batch, seconds: float) -> list[Result]:
            with lock:
                at_work.append(batch.cases[0].name)
                together.add(tuple(sorted(at_work)))
            if batch.cases[0] is CASES[1]:
                second.set()
            if batch.cases[0] is CASES[0]:
                assert second.wait(60.0), "the second batch waits for the first"
            time.sleep(0.2 if batch.cases[0] is CASES[0] else 0.02)
            with lock:
                at_work.remove(batch.cases[0].name)
            return super().ask(batch, seconds)

    monkeypatch.setattr(worker_process, "WorkerProcess", Noting)
    batches = [Batch("subgroup", [case], alone=number > 1) for number, case in enumerate(CASES[:6])]
    found: list[Result] = []
    scheduler = LocalScheduler((GPU, GPU), 1, Capabilities("fake", "discrete_gpu"))
    for results in scheduler.run(Setup(GPU, 0, 1.0), batches):
        found.extend(results)
    assert len(found) == 6
    beside = {name for names in together if len(names) > 1 for name in names}
    assert beside == {CASES[0].name, CASES[1].name}


def test_a_worker_that_hangs_while_it_closes_ends_itself(swiftshader) -> None:
    """The run has ended, so no other process can kill the worker."""
    code = (
        "import time, vkgroup.conformance.execute as execute, vkgroup.workers.worker as worker\n"
        "from vkgroup.base.processes import serve_and_leave\n"
        "worker.CLOSE_SECONDS = 0.2\n"
        "execute.Executor.close = lambda self: time.sleep(3000)\n"
        "serve_and_leave(worker.serve)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=processes.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    processes.send(process.stdin, Setup(select_device("swiftshader"), 0, 1.0))
    assert processes.receive(process.stdout) == "ready"
    process.stdin.close()
    assert process.wait(timeout=60.0) == 0
    process.stdout.close()


def test_an_internal_error_is_reported_as_one(swiftshader) -> None:
    found: list[Result] = []
    setup = Setup(select_device("swiftshader"), 0, 20.0, internal_error)
    scheduler = LocalScheduler([setup.device], 1, Capabilities("fake", "cpu"))
    for results in scheduler.run(setup, [Batch("subgroup", list(CASES[:1]))]):
        found.extend(results)
    assert not found
    (entry,) = scheduler.without_verdict
    assert entry.case == CASES[0].name
    assert entry.detail.startswith("ZeroDivisionError: planted\nTraceback")


def test_a_process_that_does_not_end_is_abandoned(monkeypatch, swiftshader) -> None:
    worker = worker_process.WorkerProcess(Setup(select_device("swiftshader"), 0, 1.0))
    honest = worker._process.wait

    def stuck(timeout: float | None = None) -> int:
        assert timeout is not None, "would wait for ever"
        raise subprocess.TimeoutExpired("worker", timeout)

    monkeypatch.setattr(worker._process, "wait", stuck)
    worker.close()
    monkeypatch.undo()
    assert honest(timeout=20.0) == -9

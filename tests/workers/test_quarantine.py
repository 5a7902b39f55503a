"""Quarantine: failures near a worker failure on the same device, and failures after a GPU was lost."""

from __future__ import annotations

import pytest

from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.workers import retry
from vkgroup.workers.retry import BatchResults, Retry, WorkerFailure

CASES = list(select(("vote.compute.subgroupA[ln][ly].bool.all.exact",)))
BATCH = Batch("subgroup", CASES)
FAILURE = WorkerFailure(Status.CRASH, "killed by signal 11")


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The time, which a test sets."""
    now = [1000.0]
    monkeypatch.setattr(retry.time, "monotonic", lambda: now[0])
    return now


def answer(*statuses: Status) -> BatchResults:
    results = [Result(case.name, status) for case, status in zip(CASES, statuses, strict=True)]
    return BatchResults(BATCH, results, retry.time.monotonic())


def test_a_pass_is_final_at_once_and_a_failure_after_the_quarantine(clock) -> None:
    taken, quarantine = [], retry.Quarantine(is_gpu=True)
    taken += quarantine.add(answer(Status.PASS, Status.FAIL))
    assert [result.status for result in taken] == [Status.PASS]
    clock[0] += retry.QUARANTINE_SECONDS - 1
    taken += quarantine.release()
    assert [result.status for result in taken] == [Status.PASS]
    clock[0] += 2
    taken += quarantine.release()
    assert [result.status for result in taken] == [Status.PASS, Status.FAIL]
    assert quarantine.release(everything=True) == []
    assert not quarantine.retries


@pytest.mark.parametrize(
    ("place", "later", "held"), [("here", 5, True), ("there", 5, False), ("here", 31, False)]
)
def test_a_worker_failure_quarantines_failures_near_it_on_its_device(clock, place, later, held) -> None:
    taken, quarantine = [], retry.Quarantine(is_gpu=True)
    taken += quarantine.add(answer(Status.PASS, Status.FAIL), "here")
    clock[0] += later
    quarantine.add_worker_failure(Batch("subgroup", CASES[:1]), FAILURE, place)
    taken += quarantine.release(everything=True)
    assert len(taken) == (1 if held else 2)
    (dead, *others) = quarantine.retries
    batch = Batch("subgroup", CASES[:1])
    assert dead == Retry(batch, FAILURE, batch, place)
    assert others == [Retry(BATCH.only({CASES[1].name}), FAILURE, worker="here")] * held


@pytest.mark.parametrize(("gpu", "said"), [(True, True), (False, False)])
def test_failures_after_a_lost_gpu_mention_it(clock, gpu, said) -> None:
    taken, quarantine = [], retry.Quarantine(is_gpu=gpu)
    single = [Retry(Batch("subgroup", [case])) for case in CASES]
    taken += quarantine.finish(single[0], FAILURE, "here")
    failed = [Result(CASES[1].name, Status.FAIL)]
    taken += quarantine.finish(single[1], failed, "here")
    taken += quarantine.finish(single[1], failed, "there")
    lost = f"the device was lost before, in {CASES[0].name}"
    assert [lost in result.detail for result in taken] == [False, said, False]


def test_a_batch_in_which_a_worker_fails_alone_is_split() -> None:
    taken, quarantine = [], retry.Quarantine(is_gpu=False)
    taken += quarantine.finish(Retry(BATCH), FAILURE)
    assert not taken
    assert [one.batch.cases for one in quarantine.retries] == [[case] for case in CASES]

"""Batches in which a worker died, although none dies of smaller batches with the same cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.record.run import failed_batches
from vkgroup.workers.retry import Retry, WorkerFailure

CASES = list(select(("vote.compute.subgroupAllEqual.*.all.exact",)))[:4]
BATCH = Batch("subgroup", CASES)
FAILURE = WorkerFailure(Status.CRASH, "killed by signal 11; it printed: one line\nand another")


def judged(deadly: Collection[int], largest: int, failure: WorkerFailure = FAILURE) -> list[Result]:
    """The results of a batch on a driver that crashes at some cases, and at batches with too many."""
    results: list[Result] = []
    waiting = [Retry(BATCH, failure, BATCH)]
    while waiting:
        retry = waiting.pop()
        cases = retry.batch.cases
        crashes = len(cases) > largest or any(CASES.index(case) in deadly for case in cases)
        passed = [Result(case.name, Status.PASS, detail="a detail") for case in cases]
        found, parts = retry.after(failure if crashes else passed)
        results += found
        waiting += parts
    return results


def test_a_batch_fails_whose_parts_pass() -> None:
    (batch,) = failed_batches(judged((), largest=3))
    assert sorted(batch.cases) == sorted(case.name for case in CASES)
    assert batch.message == "killed by signal 11; it printed: one line"


def test_further_lines_of_the_detail_do_not_matter() -> None:
    results = [replace(result, detail=f"{result.detail}\nmore") for result in judged((), largest=3)]
    assert len(failed_batches(results)) == 1


def test_a_batch_that_passes_when_it_is_repeated_does_not_fail() -> None:
    results = judged((), largest=4)
    assert all("a worker had died of its batch" in result.detail for result in results)
    assert failed_batches(results) == []


def test_parts_that_crash_are_batches_of_their_own() -> None:
    assert [batch.size for batch in failed_batches(judged((), largest=1))] == [2, 2]


def test_a_case_that_crashes_by_itself_is_the_reason() -> None:
    results = judged((1,), largest=4)
    assert sorted(result.status for result in results) == [Status.CRASH, *[Status.PASS] * 3]
    assert failed_batches(results) == []


def test_a_failure_of_the_host_is_none_of_the_driver() -> None:
    assert failed_batches(judged((), 3, WorkerFailure(None, "killed by signal 9"))) == []

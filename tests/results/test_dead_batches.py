"""Batches in which a worker died although none of their cases alone is the reason."""

from __future__ import annotations

from collections.abc import Collection

from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.results.dead_batches import dead_batches
from vkgroup.runner.retry import Retry, WorkerFailure

CASES = list(select(("vote.compute.subgroupAllEqual.*.all.exact",)))[:4]
BATCH = Batch("subgroup", CASES)
FAILURE = WorkerFailure(Status.CRASH, "killed by signal 11; it printed: one line\nand another")


def judged(deadly: Collection[int], largest: int) -> list[Result]:
    """The results of a batch on a driver that crashes at some cases, and at shaders with too many cases."""
    results: list[Result] = []
    waiting = [Retry(BATCH, FAILURE, BATCH)]
    while waiting:
        retry = waiting.pop()
        cases = retry.batch.cases
        crashes = len(cases) > largest or any(CASES.index(case) in deadly for case in cases)
        passed = [Result(case.name, Status.PASS) for case in cases]
        found, parts = retry.after(FAILURE if crashes else passed)
        results += found
        waiting += parts
    return results


def test_a_batch_whose_parts_pass_is_dead() -> None:
    (batch,) = dead_batches(judged((), largest=3))
    assert batch.size == len(batch.cases) == len(CASES)
    assert batch.first == CASES[0].name
    assert batch.message == "killed by signal 11; it printed: one line"


def test_a_batch_that_passes_when_it_is_repeated_is_dead() -> None:
    assert len(dead_batches(judged((), largest=4))) == 1


def test_parts_that_crash_are_batches_of_their_own() -> None:
    assert [batch.size for batch in dead_batches(judged((), largest=1))] == [2, 2]


def test_a_case_that_crashes_alone_explains_the_batches_with_it() -> None:
    results = judged((1,), largest=4)
    assert sorted(result.status for result in results) == [Status.CRASH, *[Status.PASS] * 3]
    assert dead_batches(results) == []

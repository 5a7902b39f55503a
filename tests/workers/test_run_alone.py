"""Batches that may hang a GPU: they run alone, in one worker, after all other batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants.driver_errors import killed_on_elect, wrong_vote_and_killed_on_elect

from vkgroup.conformance import Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.run import Setup, compile_batch
from vkgroup.device import Capabilities
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.scheduler import LocalScheduler

GUILTY = "basic.compute.subgroupElect.bool.all.exact"
VOTING = "vote.compute.subgroupAll.bool.data_mask.exact"
OTHERS = ("vote.compute.subgroupAny.bool.all.exact", "vote.compute.subgroupAllEqual.int.all.exact")

pytestmark = pytest.mark.usefixtures("swiftshader")


def judged(transform, *batches, kind="discrete_gpu", jobs=2):
    """The results of batches on a device of a pretended kind, in the order of their arrival."""
    device = replace(select_device("swiftshader"), type=kind)
    found = []
    scheduler = LocalScheduler([device], jobs, Capabilities("fake", kind))
    for results in scheduler.run(Setup(device, 0, 20.0, transform), batches):
        found.extend(results)
    return found


def batch(*names, alone=False):
    return Batch("subgroup", list(select(names)), alone)


def test_batches_alone_run_last() -> None:
    first, *others = (batch(name) for name in (GUILTY, VOTING, *OTHERS))
    found = judged(None, replace(first, alone=True), *others)
    assert found[-1].case == GUILTY
    assert len(found) == len(first) + sum(map(len, others))
    assert all(result.status in (Status.PASS, Status.UNDEFINED) for result in found)
    assert not any(result.detail for result in found)


def test_batches_alone_run_in_their_order_where_nothing_is_executed(turnip: CachedDriver) -> None:
    first, second = batch(GUILTY), batch(VOTING)
    scheduler = LocalScheduler([select_device("turnip:740")], 1, Capabilities("fake", "discrete_gpu"))
    setup = Setup(select_device("turnip:740"), 0, 20.0, None, compile_batch)
    found = [
        result for results in scheduler.run(setup, [replace(first, alone=True), second]) for result in results
    ]
    assert [result.case for result in found] == [GUILTY, VOTING]
    assert {result.status for result in found} == {Status.COMPILED}


def test_a_crash_alone_is_final_and_affects_one_case() -> None:
    guilty = batch(GUILTY, *OTHERS, alone=True)
    found = {result.case: result for result in judged(killed_on_elect, guilty, batch(VOTING))}
    assert found[GUILTY].status == Status.CRASH
    assert found.pop(VOTING).status == Status.PASS
    del found[GUILTY]
    assert {result.status for result in found.values()} == {Status.PASS}
    assert all("a worker had died of its batch" in result.detail for result in found.values())


@pytest.mark.parametrize("kind", ["discrete_gpu", "cpu"])
def test_failures_after_a_crash_mention_it_on_a_gpu(kind) -> None:
    """After a crash on a GPU, correct programs may fail; on a CPU each process is independent."""
    found = judged(
        wrong_vote_and_killed_on_elect, batch(GUILTY, alone=True), batch(VOTING, alone=True), kind=kind
    )
    dead, wrong = found
    assert (dead.status, wrong.status) == (Status.CRASH, Status.FAIL)
    assert "was lost before" not in dead.detail
    assert (f"the device was lost before, in {GUILTY}" in wrong.detail) == (kind == "discrete_gpu")

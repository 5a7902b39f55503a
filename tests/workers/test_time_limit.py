"""Time limit of a run: cases that the run does not reach have no verdict."""

from __future__ import annotations

import pytest
from mutants.driver_errors import wait_on_elect

import vkgroup.conformance as conformance
from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import Status, select
from vkgroup.workers import pool, scheduler
from vkgroup.workers.opening import select as select_device

ELECT = "basic.compute.subgroupElect.bool.all.exact"
FILTERS = (ELECT, "vote.compute.subgroupA[ln][ly].bool.all.exact")

pytestmark = pytest.mark.usefixtures("swiftshader")


def test_cases_not_reached_are_missing_until_the_run_is_resumed(tmp_path) -> None:
    device = select_device("swiftshader")
    run = conformance.run(device, filters=FILTERS, out=tmp_path, time_limit=1e-9, isolate=False)
    assert not run.results
    assert sorted(run.missing) == sorted(case.name for case in select(FILTERS))
    assert run.executed == 0
    assert run.summarize()["missing"] == 3
    run = conformance.run(device, filters=FILTERS, out=tmp_path, resume=True, isolate=False)
    assert not run.missing
    assert {result.status for result in run.results} == {Status.PASS}


def test_a_run_is_resumed_with_its_cases_or_more(tmp_path) -> None:
    device = select_device("swiftshader")
    for filters in (FILTERS[:1], FILTERS):
        run = conformance.run(device, filters=filters, out=tmp_path, resume=True, isolate=False)
        assert [result.case for result in run.results] == [case.name for case in select(filters)]
    before = (tmp_path / "results.jsonl").read_bytes()
    with pytest.raises(InvalidInput) as caught:
        conformance.run(device, filters=FILTERS[:1], out=tmp_path, resume=True, isolate=False)
    others = {case.name for case in select(FILTERS)} - {case.name for case in select(FILTERS[:1])}
    assert others
    assert any(name in str(caught.value) for name in others)
    assert f"({len(others)}, such as" in str(caught.value)
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_a_late_worker_is_ended_without_a_verdict(monkeypatch) -> None:
    """The clock reaches the time limit when the batch with a shader that waits begins."""
    honest_clock, honest_run = pool.time.monotonic, pool.Pool._run
    passed = [0.0]

    def run_batch(self, worker, retry):
        if ELECT in {case.name for case in retry.batch.cases}:
            passed[0] = self._deadline - honest_clock()
        return honest_run(self, worker, retry)

    monkeypatch.setattr(pool.Pool, "_run", run_batch)
    monkeypatch.setattr(pool.time, "monotonic", lambda: honest_clock() + passed[0])
    monkeypatch.setattr(scheduler, "GRACE_SECONDS", 0.2)
    start = honest_clock()
    run = conformance.run(
        select_device("swiftshader"), filters=FILTERS, jobs=1, transform=wait_on_elect, time_limit=900.0
    )
    assert honest_clock() - start < 20
    assert ELECT in run.missing
    assert not run.failures
    assert len(run.results) + len(run.missing) == 3

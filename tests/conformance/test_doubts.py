"""What deaths cast doubt on: failures near one on the same device, and what came after a GPU was lost."""

from __future__ import annotations

import pytest

from vkgroup.conformance import Result, Status, doubts, select
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.suspects import Answer, Death, Suspect

CASES = list(select(("vote.compute.subgroupA[ln][ly].bool.all.exact",)))
BATCH = Batch("subgroup", CASES)
DEATH = Death(Status.CRASH, "killed by signal 11")


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The time, which a test sets."""
    now = [1000.0]
    monkeypatch.setattr(doubts.time, "monotonic", lambda: now[0])
    return now


def answer(*statuses: Status) -> Answer:
    results = [Result(case.name, status) for case, status in zip(CASES, statuses, strict=True)]
    return Answer(BATCH, results, doubts.time.monotonic())


def test_a_pass_is_believed_at_once_and_a_failure_when_no_death_can_explain_it(clock) -> None:
    taken, its = [], doubts.Doubts(is_gpu=True)
    its.answered(answer(Status.PASS, Status.FAIL), taken.extend)
    assert [result.status for result in taken] == [Status.PASS]
    clock[0] += doubts.TROUBLE_SECONDS - 1
    its.settle()
    assert its.holding
    clock[0] += 2
    its.settle()
    assert [result.status for result in taken] == [Status.PASS, Status.FAIL]
    assert not its.holding
    assert not its.suspects


@pytest.mark.parametrize(
    ("place", "later", "doubtful"), [("here", 5, True), ("there", 5, False), ("here", 31, False)]
)
def test_a_death_casts_doubt_on_failures_of_its_device_and_its_time(clock, place, later, doubtful) -> None:
    taken, its = [], doubts.Doubts(is_gpu=True)
    its.answered(answer(Status.PASS, Status.FAIL), taken.extend, "here")
    clock[0] += later
    its.died(Batch("subgroup", CASES[:1]), DEATH, place)
    its.settle(now=True)
    assert len(taken) == (1 if doubtful else 2)
    (dead, *others) = its.suspects
    assert dead == Suspect(Batch("subgroup", CASES[:1]), DEATH)
    assert others == [Suspect(BATCH.only({CASES[1].name}), DEATH, own=False)] * doubtful


@pytest.mark.parametrize(("gpu", "said"), [(True, True), (False, False)])
def test_what_fails_after_a_gpu_was_lost_says_so_on_that_device_alone(clock, gpu, said) -> None:
    taken, its = [], doubts.Doubts(is_gpu=gpu)
    single = [Suspect(Batch("subgroup", [case])) for case in CASES]
    its.judged_alone(single[0], DEATH, taken.extend, "here")
    failed = [Result(CASES[1].name, Status.FAIL)]
    its.judged_alone(single[1], failed, taken.extend, "here")
    its.judged_alone(single[1], failed, taken.extend, "there")
    lost = f"the device was lost before, in {CASES[0].name}"
    assert [lost in result.detail for result in taken] == [False, said, False]


def test_a_batch_that_dies_alone_is_split() -> None:
    taken, its = [], doubts.Doubts(is_gpu=False)
    its.judged_alone(Suspect(BATCH), DEATH, taken.extend)
    assert not taken
    assert [suspect.batch.cases for suspect in its.suspects] == [[case] for case in CASES]

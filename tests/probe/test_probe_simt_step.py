"""SIMT-Step: which models the outcomes of the tests exclude, by simulated lanes that follow each model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from vkgroup.dispatch import Device
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.probe.litmus import OutcomeCount
from vkgroup.probe.simt_step import MODELS, STEP_TESTS, ModelsResult, StepTest, models_result, simt_step
from vkgroup.probe.stress import Stress
from vkgroup.probe.subject import NoFullSubgroup, Subject

RUNS = (
    Stress(3, 1, rounds=2),
    Stress(2, 4, 2, 0, 2, 3, "store-load", 2, "load-store", 2, 8, True, 4, True, 3, 5),
)
"""Short runs, the second with all kinds of stress."""


@dataclass
class Lane:
    """A lane of two, at step `at` of its program."""

    number: int
    at: int = 0
    found: int = 0
    takes: bool = True  # whether it takes the branch that leads to an operation
    with_lanes: set[int] = field(default_factory=set)


Memory = dict[str, int]
Step = tuple[str, Callable[[Lane, Memory], None]]  # its kind, and what it does


def _program(test: StepTest) -> list[Step]:
    """Return the steps of a test, for both lanes."""

    def put(where: str, value: int) -> Step:
        def step(lane: Lane, memory: Memory) -> None:
            memory[where.format(own=lane.number, other=1 - lane.number)] = value + lane.number * (
                where == "x"
            )

        return "access", step

    def get(where: str) -> Step:
        def step(lane: Lane, memory: Memory) -> None:
            lane.found = memory.get(where.format(own=lane.number, other=1 - lane.number), 0)

        return "access", step

    def branch(lane: Lane, memory: Memory) -> None:
        lane.takes = test.number != 4 or lane.found == 0

    def store_found(lane: Lane, memory: Memory) -> None:
        memory[f"g{1 - lane.number}"] = lane.found

    def nothing(lane: Lane, memory: Memory) -> None:
        pass

    if test.number in (0, 6):
        return [put("x", 1), get("x")]
    if test.number == 4:
        return [get("c"), ("branch", branch), ("operation", nothing), put("c", 1)]
    if test.number == 5:
        return [get("g{own}"), ("broadcast", nothing), ("access", store_found)]
    first = get("g{own}") if test.access == 1 else put("g{own}", 1)
    second = get("g{other}") if test.access == 2 else put("g{other}", 2)
    between: list[Step] = [] if test.number == 1 else [("branch", branch)]
    if test.number == 3:
        between.append(("operation", nothing))
    return [first, *between, second]


def _waits(model: str, kind: str) -> bool:
    """Return whether lanes wait for each other before a step of a kind."""
    waiting = {
        "CM": ("access", "branch", "operation", "broadcast"),
        "SM": ("access", "branch", "operation", "broadcast"),
        "SCF": ("branch", "operation", "broadcast"),
        "SSO": ("operation", "broadcast"),
        "Spec": ("broadcast",),  # all lanes are known to come to it
        "Symb": (),
    }
    return kind in waiting[model]


def _shows(model: str, test: StepTest, order: Sequence[int]) -> bool:
    """Return whether lanes that run as far as the model lets them, in an order, show the outcome."""
    steps, memory, lanes = _program(test), Memory(), [Lane(0), Lane(1)]
    is_shared = test.number == 0

    def take(lane: Lane, together: set[int]) -> None:
        kind, act = steps[lane.at]
        act(lane, memory)
        if kind == "operation" and lane.takes:
            lane.with_lanes = together
        elif kind == "broadcast":
            lane.found = lanes[0].found if lanes[0].at >= lane.at else 99  # not known yet: any value
        lane.at += 1
        if lane.at < len(steps) and not lane.takes:
            lane.at = len(steps)

    while any(lane.at < len(steps) for lane in lanes):
        for number in order:
            lane, other = lanes[number], lanes[1 - number]
            while lane.at < len(steps) and not (_waits(model, steps[lane.at][0]) and other.at < lane.at):
                if _waits(model, steps[lane.at][0]) and other.at == lane.at:
                    # Both are there. Another subgroup may store between the accesses, unless they are one.
                    take(lane, {0, 1})
                    if is_shared and model != "CM":
                        memory["x"] = 7
                    take(other, {0, 1})
                else:
                    take(lane, {number} if other.at != lane.at else {0, 1})
            if is_shared and model != "CM":
                memory["x"] = 7
    if test.number in (0, 6):
        return lanes[0].found != lanes[1].found
    if test.number == 4:
        return any(lane.with_lanes != {0, 1} for lane in lanes)
    if test.number == 5:
        return memory["g0"] != 0 or memory["g1"] != 0
    if test.access == 0:
        return 1 in (memory["g0"], memory["g1"])
    return any((lane.found != 0) == (test.access == 1) for lane in lanes)


@pytest.mark.parametrize("model", MODELS)
def test_lanes_that_follow_a_model_show_all_that_it_permits_and_exclude_the_stronger_ones(model: str) -> None:
    shown = [any(_shows(model, test, order) for order in ((0, 1), (1, 0))) for test in STEP_TESTS]
    assert shown == [model not in test.forbidding for test in STEP_TESTS]
    counts = (OutcomeCount(test.outcome, int(seen), 1) for test, seen in zip(STEP_TESTS, shown, strict=True))
    result = models_result(tuple(counts))
    names = list(MODELS)
    assert list(result.excluded) == names[: names.index(model)]
    assert list(result.consistent) == names[names.index(model) :]
    assert all(name in result.answer for name in names)


def test_one_outcome_excludes_the_models_that_forbid_it() -> None:
    for number, test in enumerate(STEP_TESTS):
        counts = [OutcomeCount(each.outcome, int(each is test), 9) for each in STEP_TESTS]
        assert models_result(tuple(counts)).excluded == test.forbidding, number


@pytest.mark.parametrize("size", [2, 4])
def test_lanes_of_the_reference_device_take_all_steps_together(size: int) -> None:
    with ReferenceDevice(size) as opened:
        result = simt_step(Subject(opened), RUNS)
    assert result.consistent == tuple(MODELS)
    tried = size * sum(run.rounds * run.workgroups for run in RUNS)
    assert {count.tried for count in result.counts} == {tried}
    with ReferenceDevice(1) as opened, pytest.raises(NoFullSubgroup):
        simt_step(Subject(opened), RUNS)


class _Ahead(Subject):
    """A device whose lanes are ahead of each other: each lane of half the rounds shows the outcome."""

    def run_full_subgroups(self, module, workgroups, bindings):  # type: ignore[no-untyped-def]
        result = dict(super().run_full_subgroups(module, workgroups, bindings))
        return {**result, "Seen": result["Seen"] + bindings["Plan"][2] // 2}


def test_a_planted_outcome_is_counted_and_excludes() -> None:
    with ReferenceDevice(2) as opened:
        result = simt_step(_Ahead(opened), RUNS[:1])
    assert [(count.seen, count.tried) for count in result.counts] == [(6, 12)] * len(STEP_TESTS)
    assert result.consistent == ("Symb",)
    assert result.to_json()["models"] == MODELS
    forbidden = result.to_json()["forbidden_by"]
    assert forbidden == {test.outcome: list(test.forbidding) for test in STEP_TESTS}
    assert result.to_json()["counts"][0]["by_run"] == [[6, 12]]  # type: ignore[index]


def test_a_load_of_a_lane_before_the_others_have_stored_is_seen(device: Device) -> None:
    """Lanes of llvmpipe load what they stored themselves; those of SwiftShader store all before they load."""
    result = simt_step(Subject(device), (Stress(4, 1, rounds=8),))
    assert isinstance(result, ModelsResult)
    is_llvmpipe = device.capabilities.driver_name == "llvmpipe"
    assert ("SM" in result.excluded) == is_llvmpipe
    assert "SCF" in result.consistent

"""`Device.run` on arrays of the same sizes again: the same results and errors as the first time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from alarms import interrupt_often

import vkgroup
from vkgroup.base.errors import DriverError, InvalidDispatch, OutOfMemory
from vkgroup.dispatch import Device
from vkgroup.dispatch import pipeline as pipeline_module
from vkgroup.dispatch.vulkan import array_run, memory_sets
from vkgroup.drivers import CachedDriver

SOURCE = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(binding = 1) buffer Sums { uint sums[]; };
layout(binding = 2) uniform Scale { uint scale; };
layout(push_constant) uniform Amount { uint amount; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < sums.length())
        sums[i] += inputs[i] * scale + amount;
}
"""

OTHER = """#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const uint VALUE = 7;
layout(binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] = VALUE; }
"""


@pytest.fixture(params=["mapped", "window", "staged"])
def fresh(request: pytest.FixtureRequest, swiftshader: CachedDriver) -> Iterator[Device]:
    """A software device; or one treated as a GPU with its own memory, to which the host can write, or not."""
    with vkgroup.open(swiftshader.name) as opened:
        if request.param != "mapped":
            opened.logical.capabilities = replace(opened.capabilities, type="discrete_gpu")
        if request.param == "staged":
            opened.logical.window_type = None
        yield opened


def run(device: Device, inputs: np.ndarray, sums: np.ndarray, scale: int, amount: int) -> vkgroup.RunResult:
    arrays = {"inputs": inputs, "sums": sums, "scale": np.uint32([scale])}
    return device.run(SOURCE, -(-inputs.size // 64), arrays, push={"amount": amount})


def test_every_run_has_its_own_values(fresh: Device) -> None:
    generator = np.random.default_rng(0)
    for number in range(8):
        size = 100 if number % 2 else 64
        inputs, sums = (generator.integers(0, 1000, size, np.uint32) for _ in range(2))
        before = inputs.copy(), sums.copy()
        result = run(fresh, inputs, sums, number, 5)
        assert np.array_equal(result["sums"], sums + inputs * np.uint32(number) + 5)
        assert list(result) == ["Sums"]
        assert np.array_equal(result[1], result["sums"])
        assert result.seconds is None
        assert np.array_equal(before, (inputs, sums))


def test_results_stay_when_another_run_follows(fresh: Device) -> None:
    ones = np.ones(64, np.uint32)
    results = [run(fresh, ones, ones, scale, 0)["sums"] for scale in range(5)]
    assert [int(result[0]) for result in results] == [1, 2, 3, 4, 5]


def test_a_plan_is_kept_from_the_second_run_on(fresh: Device) -> None:
    ones = np.ones(64, np.uint32)
    plans = []
    for _ in range(4):
        run(fresh, ones, ones, 1, 1)
        plans.append(fresh.memory().plans)
    assert plans == [0, 1, 1, 1]
    assert fresh.memory().recordings == 1


def test_wrong_arrays_are_refused_after_right_ones(fresh: Device) -> None:
    ones = np.ones(64, np.uint32)
    for _ in range(3):
        run(fresh, ones, ones, 1, 1)
    with pytest.raises(InvalidDispatch, match="float32"):
        run(fresh, ones.astype(np.float32), ones, 1, 1)
    with pytest.raises(InvalidDispatch):
        fresh.run(SOURCE, -1, {"inputs": ones, "sums": ones, "scale": np.uint32([1])}, push={"amount": 1})
    arrays = {"inputs": ones, "sums": ones, "scale": np.uint32([1])}
    with pytest.raises(InvalidDispatch):
        fresh.run(SOURCE, 1, arrays, push={"amount": 1}, timeout=-1)
    with pytest.raises(InvalidDispatch):
        fresh.run(SOURCE, 1, {"inputs": ones, "sums": ones, "scale": np.uint32([1])})
    assert (run(fresh, ones, ones, 1, 1)["sums"] == 3).all()


def test_arrays_that_are_not_contiguous_are_copied_in_order(fresh: Device) -> None:
    inputs = np.arange(128, dtype=np.uint32)[::2]
    sums = np.zeros((8, 8), np.uint32).T
    for _ in range(3):
        result = run(fresh, inputs, sums, 1, 0)["sums"]
        assert np.array_equal(result.reshape(-1), inputs)
        assert result.shape == (8, 8)


def test_a_closed_device_is_refused(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    ones = np.ones(64, np.uint32)
    for _ in range(3):
        run(device, ones, ones, 1, 1)
    device.close()
    with pytest.raises(DriverError, match="closed"):
        run(device, ones, ones, 1, 1)


def test_memory_that_runs_out_between_runs_is_an_error_and_not_a_loss(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones = np.ones(64, np.uint32)
    for _ in range(3):
        run(fresh, ones, ones, 1, 1)
    fresh.trim()
    with monkeypatch.context() as patch:
        patch.setattr(fresh.logical.functions, "vkAllocateMemory", lambda *arguments: -2)
        with pytest.raises(OutOfMemory):
            run(fresh, ones, ones, 1, 1)
    assert (run(fresh, ones, ones, 1, 1)["sums"] == 3).all()


def test_source_texts_are_compiled_once(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    ones = np.ones(64, np.uint32)
    run(fresh, ones, ones, 1, 1)
    monkeypatch.setattr(fresh, "compile", None)
    run(fresh, ones, ones, 1, 1)


def start(device: Device, inputs: np.ndarray, scale: int) -> vkgroup.dispatch.PendingRun:
    arrays = {"inputs": inputs, "sums": np.zeros_like(inputs), "scale": np.uint32([scale])}
    return device.submit(SOURCE, -(-inputs.size // 64), arrays, push={"amount": 7})


def test_many_runs_are_in_flight_on_their_own_arrays(fresh: Device) -> None:
    """More of them than recordings are kept; the last ones are large, and are not kept."""
    inputs = np.arange(100, dtype=np.uint32)
    pending = []
    for scale in range(40):
        pending.append(start(fresh, inputs, scale))
        inputs += 1
    large = np.arange(300_000, dtype=np.uint32)
    pending += [start(fresh, large, scale) for scale in range(2)]
    for scale, run in enumerate(pending[:40]):
        first = np.arange(scale, scale + 100, dtype=np.uint32)
        assert np.array_equal(run.result()["sums"], first * np.uint32(scale) + 7)
        assert run.done
        assert run.result() is run.result()
    for scale, run in enumerate(pending[40:]):
        assert np.array_equal(run.result(60)["sums"], large * np.uint32(scale) + 7)


def test_runs_whose_results_nobody_wants_hold_no_memory(fresh: Device) -> None:
    inputs = np.arange(100, dtype=np.uint32)
    for _ in range(40):
        start(fresh, inputs, 1)
    fresh.synchronize()
    fresh.trim()
    assert fresh.memory().in_use == 0


def test_submit_refuses_what_run_refuses(fresh: Device) -> None:
    ones = np.ones(64, np.uint32)
    for _ in range(2):
        with pytest.raises(InvalidDispatch):
            start(fresh, ones.astype(np.float32), 1)
        with pytest.raises(InvalidDispatch):
            fresh.submit(
                SOURCE, -1, {"inputs": ones, "sums": ones, "scale": np.uint32([1])}, push={"amount": 1}
            )
        start(fresh, ones, 1).result()


def test_the_reference_device_submits_too() -> None:
    with vkgroup.open("reference", subgroup_size=4) as device:
        run = start(device, np.arange(64, dtype=np.uint32), 2)
        assert run.done
        assert np.array_equal(run.result()["sums"], np.arange(64) * 2 + 7)
        assert run.result().defined is not None


def test_results_of_a_closed_device_are_refused(swiftshader: CachedDriver) -> None:
    ones, large = np.ones(64, np.uint32), np.ones(300_000, np.uint32)
    with vkgroup.open(swiftshader.name) as device:
        known, *pending = start(device, ones, 1), start(device, ones, 1), start(device, large, 1)
        expected = known.result()["sums"].copy()
    for run in pending:
        with pytest.raises(DriverError, match="closed"):
            run.result()
    assert np.array_equal(known.result()["sums"], expected)


def test_runs_that_ctrl_c_interrupts_leave_the_next_ones_right(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At many places: each time the alarm comes a little later.

    Without the validation layer, because that reports objects that are lost between two calls of Python.
    """
    monkeypatch.setenv("VKGROUP_VALIDATION", "0")
    fresh = vkgroup.open(swiftshader.name)
    ones = np.ones(64, np.uint32)
    for _ in range(3):
        run(fresh, ones, ones, 1, 1)
    interrupt_often(lambda: run(fresh, ones, ones, 1, 1), 200, 2e-6)
    for scale in range(3):
        assert (run(fresh, ones, ones, scale, 1)["sums"] == 2 + scale).all()
    fresh.synchronize()
    assert fresh.logical.timeline.completed == fresh.logical.timeline.submitted
    fresh.close()


def test_a_run_whose_pipeline_was_closed_meanwhile_makes_it_again(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is kept longer than its pipeline if other pipelines were used since."""
    monkeypatch.setattr(pipeline_module, "MOST_PIPELINES", 1)
    ones = np.ones(64, np.uint32)
    for number in range(3):
        assert run(fresh, ones, ones, 1, number)["sums"][0] == 2 + number
    assert fresh.run(OTHER, 1, {0: ones})[0][0] == 7
    for number in range(3):
        assert run(fresh, ones, ones, 1, number)["sums"][0] == 2 + number


def test_runs_with_other_constants_are_told_apart(fresh: Device) -> None:
    ones = np.ones(64, np.uint32)
    for value in (7, 8, 7, 8, 7):
        assert fresh.run(OTHER, 1, {0: ones}, specialization={0: value})[0][0] == value
    with pytest.raises(InvalidDispatch, match="specialization"):
        fresh.run(OTHER, 1, {0: ones}, specialization=[7])


def test_a_result_that_is_interrupted_shares_no_buffers_with_others(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    give = memory_sets.MemorySets.give
    ones = np.ones(64, np.uint32)
    interrupted = start(fresh, ones, 1)

    def interrupt(self: memory_sets.MemorySets, memories: list[Any]) -> None:
        give(self, memories)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory_sets.MemorySets, "give", interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted.result()
    runs = [start(fresh, ones, scale) for scale in (2, 3, 4)]
    assert (interrupted.result()["sums"] == 1 + 7).all()
    assert [int(run.result()["sums"][0]) for run in runs] == [2 + 7, 3 + 7, 4 + 7]


def test_a_handler_of_a_signal_may_take_a_result(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, found = array_run.copied, []
    run = start(fresh, np.ones(64, np.uint32), 1)

    def signalled(*arguments: Any) -> Any:
        monkeypatch.setattr(array_run, "copied", copied)
        signal.raise_signal(signal.SIGALRM)
        return copied(*arguments)

    before = signal.signal(signal.SIGALRM, lambda *arguments: found.append(run.result()))
    try:
        monkeypatch.setattr(array_run, "copied", signalled)
        assert run.result() is found[0]
    finally:
        signal.signal(signal.SIGALRM, before)

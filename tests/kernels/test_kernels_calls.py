"""Kernels called again and again: what is kept, what is in flight, and what must not be shared."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.dispatch.launcher import Pass
from vkgroup.drivers import CachedDriver
from vkgroup.kernels import plan_cache

_VALUES = np.random.default_rng(0).random(1000, np.float32)


def test_calls_are_chained_without_waiting(driver: Device) -> None:
    integers = np.random.default_rng(1).integers(0, 1000, 5000, np.uint32)
    with driver.buffer(integers) as x:
        for _ in range(3):
            scanned = kernels.cumsum(kernels.sort(kernels.compact(x, "<", 500)))
            expected = np.cumsum(np.sort(integers[integers < 500]), dtype=np.uint32)
            assert np.array_equal(scanned.read(), expected)


def test_on_a_gpu_shaders_fill_memory_before_each_call(swiftshader: CachedDriver) -> None:
    """Calls find the counters of the last call in their memory. SwiftShader is treated as a GPU."""
    random = np.random.default_rng(2)
    with vkgroup.open(swiftshader.name) as gpu:
        gpu.logical.capabilities = replace(gpu.capabilities, type="discrete_gpu")
        steps = kernels.plan_scan(gpu, "add", np.uint32, 1 << 16).steps
        assert all(isinstance(step, Pass) for step in steps)
        assert len(steps) == 2
        for number in range(4):
            values = random.integers(0, 256, 1 << 16, np.uint32)
            with gpu.buffer(values) as x:
                scanned, counts = kernels.cumsum(x), kernels.bincount(x, 256)
                kept = kernels.compact(x, "<", 100)
                assert np.array_equal(scanned.read(), np.cumsum(values, dtype=np.uint32)), number
                assert np.array_equal(counts.read(), np.bincount(values, minlength=256)), number
                assert np.array_equal(kept.read(), values[values < 100]), number


def test_results_that_are_held_keep_their_values(driver: Device) -> None:
    buffers = [driver.buffer(np.full(100, number, np.uint32)) for number in range(100)]
    sums = [kernels.sum(buffer) for buffer in buffers]
    assert [int(result.read()) for result in sums] == [100 * number for number in range(100)]


def test_a_result_that_is_dropped_makes_room_for_the_next(driver: Device) -> None:
    with driver.buffer(_VALUES) as x:
        kernels.sort(x)
        driver.synchronize()
        before = driver.memory()
        for _ in range(200):
            kernels.sort(x)
        driver.synchronize()
        after = driver.memory()
        assert (after.in_use, after.plans, after.allocations) == (
            before.in_use,
            before.plans,
            before.allocations,
        )
        assert after.recordings <= before.recordings + 2


@pytest.mark.slow
def test_many_calls_hold_nothing(driver: Device) -> None:
    with driver.buffer(_VALUES) as x:
        for _ in range(100):
            kernels.sum(x)
        driver.synchronize()
        before = driver.memory()
        for _ in range(30_000):
            kernels.sum(x)
        driver.synchronize()
        assert driver.memory() == before
        assert not driver.logical.timeline._deferred


def test_options_that_are_equal_but_of_other_types_have_their_own_plans(driver: Device) -> None:
    x = np.array([0, 1, 2, 1], np.int32)
    with driver.buffer(x) as buffer:
        for _ in range(2):
            assert np.array_equal(kernels.compact(buffer, "<", 1).read(), [0])
            assert np.array_equal(kernels.compact(buffer, "<", True).read(), [0])
            with pytest.raises(InvalidDispatch, match="number of that type"):
                kernels.compact(buffer, "<", 1.5)
            assert np.array_equal(kernels.compact(buffer, "<", 1.0).read(), [0])


def test_the_number_of_plans_is_bounded(driver: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_cache, "MOST_PLANS", 3)
    driver.plans.close()
    for size in range(1, 12):
        with driver.buffer(np.ones(size, np.uint32)) as x:
            assert kernels.sum(x).read() == size
        assert len(driver.plans) <= 3
    assert driver.memory().plans <= 3


def test_recordings_do_not_keep_closed_buffers_or_use_them(driver: Device) -> None:
    x = driver.buffer(_VALUES)
    total = kernels.sum(x)
    expected = total.read()
    x.close()
    with pytest.raises(DriverError, match="closed"):
        kernels.sum(x)
    for _ in range(3):
        with driver.buffer(_VALUES * 2) as again:
            assert kernels.sum(again).read() == expected * 2


def test_trim_between_calls_changes_no_result(driver: Device) -> None:
    with driver.buffer(_VALUES) as x:
        expected = np.sort(_VALUES)
        for _ in range(3):
            result = kernels.sort(x)
            driver.trim()
            assert np.array_equal(result.read(), expected)
            result.close()


def test_views_of_one_buffer_are_different_arguments(driver: Device) -> None:
    step = int(driver.capabilities.limits["minStorageBufferOffsetAlignment"])
    count = 4 * step
    data = np.arange(3 * count, dtype=np.uint32)
    with driver.buffer(data) as whole:
        for _ in range(2):
            for number in range(3):
                part = whole.view(shape=count, offset=4 * count * number)
                expected = data[number * count : (number + 1) * count].sum(dtype=np.uint32)
                assert kernels.sum(part).read() == expected


def test_arrays_viewed_by_other_libraries_are_read_when_a_call_returns(driver: Device) -> None:
    data = np.arange(1000, dtype=np.uint32)
    with driver.buffer(data) as x:
        view = np.from_dlpack(x)
        for number in range(5):
            view[0] = number
            assert kernels.sum(x).read() == data[1:].sum() + number


def test_threads_call_kernels_on_one_device(driver: Device) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            data = np.random.default_rng(seed).integers(0, 100, 3000 + seed, np.uint32)
            with driver.buffer(data) as x:
                for _ in range(10):
                    assert np.array_equal(kernels.sort(x).read(), np.sort(data))
                    assert kernels.sum(x).read() == data.sum()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures

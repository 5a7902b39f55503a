"""The memory pool: reuse, release, statistics, limits, threads and finalizers."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DriverError, OutOfMemory
from vkgroup.device.pool import LARGE
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver


@pytest.fixture
def fresh(swiftshader: CachedDriver) -> Iterator[Device]:
    """A device whose pool is empty."""
    with vkgroup.open(swiftshader.name) as opened:
        yield opened


def counted(device: Device, monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Count the calls of a function of the driver, in the returned list of one number."""
    calls = [0]
    function: Callable[..., int] = getattr(device.logical.functions, name)

    def count(*arguments: object) -> int:
        calls[0] += 1
        return function(*arguments)

    monkeypatch.setattr(device.logical.functions, name, count)
    return calls


def test_many_buffers_share_few_allocations(fresh: Device) -> None:
    most = fresh.memory().most_allocations
    buffers = [fresh.buffer(np.uint32([number])) for number in range(2 * most)]
    statistics = fresh.memory()
    assert statistics.allocations < 10
    assert statistics.in_use >= 4 * 2 * most
    assert all(buffer.read()[0] == number for number, buffer in enumerate(buffers))


@pytest.mark.slow
def test_a_hundred_thousand_buffers_are_within_the_limit_of_allocations(fresh: Device) -> None:
    buffers = [fresh.buffer(np.uint32([number])) for number in range(100_000)]
    assert fresh.memory().allocations <= 10
    assert all(buffers[number].read()[0] == number for number in range(0, 100_000, 997))
    for buffer in buffers:
        buffer.close()
    assert fresh.memory().in_use == 0
    fresh.trim()
    assert fresh.memory().allocations == 0


def test_freed_memory_is_used_again(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(fresh, monkeypatch, "vkAllocateMemory")
    for nbytes in (100, 4096, LARGE, 3 * LARGE):
        fresh.buffer(nbytes).close()
        before = calls[0]
        for _ in range(5):
            fresh.buffer(nbytes).close()
        assert calls[0] == before


def test_a_large_block_serves_slightly_smaller_requests_only(fresh: Device) -> None:
    fresh.buffer(4 * LARGE).close()
    with fresh.buffer(4 * LARGE - 4096):
        assert fresh.memory().allocations == 1
    with fresh.buffer(2 * LARGE):
        assert fresh.memory().allocations == 2


def test_buffers_of_one_block_do_not_overlap(fresh: Device) -> None:
    generator = np.random.default_rng(1)
    arrays = [generator.integers(0, 256, int(n), np.uint8) for n in generator.integers(1, 5000, 200)]
    buffers = [fresh.buffer(array) for array in arrays]
    for number in range(0, 200, 2):
        buffers[number].close()
    for number in range(0, 200, 2):
        arrays[number] = generator.integers(0, 256, arrays[number].size // 2 + 1, np.uint8)
        buffers[number] = fresh.buffer(arrays[number])
    assert all(np.array_equal(buffer.read(), array) for buffer, array in zip(buffers, arrays, strict=True))


def test_statistics_count_open_buffers(fresh: Device) -> None:
    assert fresh.memory() == replace(fresh.memory(), in_use=0, cached=0, peak=0, allocations=0)
    first, second = fresh.buffer(1 << 20), fresh.buffer(1 << 20)
    assert fresh.memory().in_use == 2 << 20
    first.close()
    assert (fresh.memory().in_use, fresh.memory().peak) == (1 << 20, 2 << 20)
    second.close()
    cached = fresh.memory().cached
    assert cached >= 2 << 20
    assert fresh.trim() == cached
    assert fresh.memory() == replace(fresh.memory(), in_use=0, cached=0, peak=2 << 20, allocations=0)


def test_trim_keeps_what_is_used(fresh: Device) -> None:
    data = np.arange(1000)
    with fresh.buffer(data) as kept, fresh.image(np.ones((8, 8), np.uint32)) as image:
        fresh.buffer(2 * LARGE).close()
        assert fresh.trim() >= 2 * LARGE
        assert np.array_equal(kept.read(), data)
        assert (image.read() == 1).all()


def test_a_failed_allocation_succeeds_after_cached_memory_is_released(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.buffer(2 * LARGE).close()
    functions = fresh.logical.functions
    allocate = functions.vkAllocateMemory

    def refuse_while_cached(*arguments: object) -> int:
        return -2 if fresh.logical.pool._held else int(allocate(*arguments))  # VK_ERROR_OUT_OF_DEVICE_MEMORY

    monkeypatch.setattr(functions, "vkAllocateMemory", refuse_while_cached)
    with fresh.buffer(4 * LARGE):
        assert fresh.memory().in_use == 4 * LARGE
    monkeypatch.setattr(functions, "vkAllocateMemory", lambda *arguments: -2)
    with pytest.raises(OutOfMemory, match=f"a buffer of {5 * LARGE} bytes"):
        fresh.buffer(5 * LARGE)
    assert fresh.memory().in_use == 0


def test_the_limit_of_allocations_is_respected(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = fresh.logical.pool
    monkeypatch.setattr(pool, "_most", 3)
    held = [fresh.buffer(LARGE) for _ in range(3)]
    with pytest.raises(OutOfMemory, match=r"allows 3 \(maxMemoryAllocationCount\)"):
        fresh.buffer(LARGE)
    held.pop().close()
    # The cached block of another size is released for this.
    held.append(fresh.buffer(3 * LARGE))
    assert fresh.memory().allocations == 3


def test_unused_memory_is_limited_to_a_part_of_the_heap(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = fresh.logical.pool
    heap = max(int(pool._properties.memoryHeaps[n].size) for n in range(pool._properties.memoryHeapCount))
    monkeypatch.setattr(pool, "_part", 5 * LARGE / heap)
    buffers = [fresh.buffer((2 + number) * LARGE) for number in range(3)]
    for buffer in buffers:
        buffer.close()
    # 2 + 3 + 4 parts were freed; the last one of at most 5 parts remains.
    assert fresh.memory().cached == 4 * LARGE


def test_a_buffer_that_fails_halfway_gives_its_memory_back(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh.logical.functions, "vkBindBufferMemory", lambda *arguments: -1)
    with pytest.raises(OutOfMemory, match="binding"):
        fresh.buffer(4096)
    assert fresh.memory().in_use == 0


def test_threads_share_a_pool(fresh: Device) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        open_buffers: list[tuple[vkgroup.Buffer, np.ndarray]] = []
        try:
            for _ in range(300):
                data = generator.integers(0, 256, int(generator.integers(1, 100_000)), np.uint8)
                open_buffers.append((fresh.buffer(data), data))
                if len(open_buffers) > 10:
                    buffer, expected = open_buffers.pop(int(generator.integers(10)))
                    assert np.array_equal(buffer.read(), expected)
                    buffer.close()
            for buffer, expected in open_buffers:
                assert np.array_equal(buffer.read(), expected)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    gc.collect()
    assert fresh.memory().in_use == 0


def test_a_finalizer_that_runs_during_an_allocation_does_not_wait_for_itself(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = [fresh.buffer(4096)]
    functions = fresh.logical.functions
    allocate = functions.vkAllocateMemory

    def collect(*arguments: object) -> int:
        victim.clear()  # the buffer is deleted while the pool's lock is held
        return int(allocate(*arguments))

    monkeypatch.setattr(functions, "vkAllocateMemory", collect)
    with fresh.buffer(2 * LARGE):
        assert not victim
        assert fresh.memory().in_use == 2 * LARGE


def test_memory_viewed_by_arrays_outlives_the_device(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    data = np.arange(1000.0)
    view, other = (np.from_dlpack(device.buffer(data)) for _ in range(2))
    device.close()
    del other
    gc.collect()
    assert np.array_equal(view, data)


def test_statistics_of_a_closed_device_are_refused(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    device.close()
    with pytest.raises(DriverError, match="closed"):
        device.memory()
    with pytest.raises(DriverError, match="closed"):
        device.trim()


def test_the_reference_device_counts_its_memory() -> None:
    with vkgroup.open("reference") as device:
        buffer = device.buffer(4096)
        view = np.from_dlpack(buffer)
        buffer.close()
        del buffer
        assert device.memory().in_use == 4096  # the array keeps the memory
        del view
        gc.collect()
        assert (device.memory().in_use, device.memory().peak, device.trim()) == (0, 4096, 0)

"""Device memory: bytes in and out, by mapping and by staging; limits and exhaustion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from refusals import lacks

import vkgroup
from vkgroup.base.errors import DriverError, OutOfMemory
from vkgroup.device.memory import DeviceBuffer
from vkgroup.device.memory_types import memory_type
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver


@pytest.fixture(scope="module")
def staged(swiftshader: CachedDriver) -> Iterator[Device]:
    """A software device that is treated as a GPU with separate memory."""
    with vkgroup.open(swiftshader.name) as opened:
        opened.logical.capabilities = replace(opened.capabilities, type="discrete_gpu")
        yield opened


@pytest.mark.parametrize("nbytes", [1, 3, 4096, 1 << 20, (40 << 20) + 5])
def test_bytes_survive_staging(staged: Device, nbytes: int) -> None:
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    with staged.buffer(data) as buffer:
        assert buffer.memory.mapped is None
        assert np.array_equal(buffer.read(), data)


def test_small_arrays_are_written_directly_unless_work_uses_the_buffer(staged: Device) -> None:
    buffer = staged.buffer(np.arange(8, dtype=np.uint32))
    memory = buffer.memory  # type: ignore[attr-defined]
    assert memory.window is not None
    submitted = staged.logical.timeline.submitted
    buffer.write(np.uint32([70, 80]), offset=8)
    assert staged.logical.timeline.submitted == submitted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged.logical, "finished", lambda number: False)
        buffer.write(np.uint32([90]))
        assert staged.logical.timeline.submitted == submitted + 1
    assert buffer.read().tolist() == [90, 1, 70, 80, 4, 5, 6, 7]


def test_memory_closed_while_work_used_it_is_free_when_the_work_has_finished(staged: Device) -> None:
    nbytes, timeline = 20 << 20, staged.logical.timeline
    buffers = [staged.buffer(np.zeros(nbytes, np.uint8)) for _ in range(2)]
    staged.synchronize()
    for use in (staged.memory, staged.trim):
        before = staged.memory().in_use
        timeline.completed = timeline.submitted - 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(timeline, "poll", lambda: timeline.completed)
            buffers.pop().close()
        use()
        assert staged.memory().in_use <= before - nbytes
    assert staged.memory().cached == 0


def test_without_such_memory_small_arrays_are_staged(swiftshader: CachedDriver) -> None:
    """Small windows to a part of the GPU's memory are not used."""
    with vkgroup.open(swiftshader.name) as device:
        device.logical.capabilities = replace(device.capabilities, type="discrete_gpu")
        assert device.logical.window_type is not None
        del device.logical.window_type
        properties = device.logical.memory_properties
        heaps = [(heap.size, heap.flags) for heap in properties.memoryHeaps[0 : properties.memoryHeapCount]]
        properties.memoryHeapCount = len(heaps) + 1
        properties.memoryHeaps[len(heaps)].size = 2 * max(size for size, _ in heaps)
        properties.memoryHeaps[len(heaps)].flags = 1
        try:
            assert device.logical.window_type is None
            buffer = device.buffer(np.arange(8, dtype=np.uint32))
            assert buffer.memory.window is None  # type: ignore[attr-defined]
            assert buffer.read().tolist() == list(range(8))
        finally:
            properties.memoryHeapCount = len(heaps)


def test_parts_are_staged_to_their_places(staged: Device) -> None:
    with staged.buffer(np.zeros(100, np.uint32)) as buffer:
        buffer.write(np.arange(10, dtype=np.uint32), offset=200)
        expected = np.zeros(100, np.uint32)
        expected[50:60] = np.arange(10)
        assert np.array_equal(buffer.read(), expected)
        assert np.array_equal(buffer.read(np.uint32, 4, offset=208), [2, 3, 4, 5])


def test_host_memory_is_mapped_on_any_device(staged: Device) -> None:
    with staged.buffer(np.arange(5), host=True) as buffer:
        assert buffer.memory.mapped is not None
        assert np.array_equal(buffer.read(), np.arange(5))


def test_a_staged_device_computes_the_same(staged: Device) -> None:
    source = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint d[]; } b;
void main() { b.d[gl_GlobalInvocationID.x] *= 3u; }"""
    data = np.arange(640, dtype=np.uint32)
    assert np.array_equal(staged.run(source, 10, {"b": data})["b"], data * 3)


def test_software_drivers_are_mapped(device: Device) -> None:
    with device.buffer(np.arange(1000.0)) as buffer:
        assert buffer.memory.mapped is not None
        assert np.array_equal(buffer.read(), np.arange(1000.0))


def test_a_buffer_over_the_limit_names_it(device: Device) -> None:
    most = device.capabilities.limits["maxBufferSize"]
    with lacks("maxBufferSize") as caught:
        device.buffer(most + 1)
    assert caught.value.missing == (f"maxBufferSize of {most + 1} (it is {most})",)


def test_more_than_the_heap_is_out_of_memory_not_a_crash(device: Device) -> None:
    # Without validation: the layer rightly objects to what only a wrong limit lets through.
    with vkgroup.open(device.info, validation=False) as opened:
        heap = opened.capabilities.memory_heaps[0][0]
        limits = {**opened.capabilities.limits, "maxBufferSize": 1 << 50}
        opened.logical.capabilities = replace(opened.capabilities, limits=limits)
        with pytest.raises(OutOfMemory, match=str(heap + (1 << 20))):
            opened.buffer(heap + (1 << 20))
        with opened.buffer(np.arange(3)) as buffer:
            assert np.array_equal(buffer.read(), np.arange(3))


def test_an_allocation_that_the_driver_refuses_is_out_of_memory(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> int:
        return -2  # VK_ERROR_OUT_OF_DEVICE_MEMORY

    monkeypatch.setattr(device.logical.functions, "vkAllocateMemory", refuse)
    # Larger than what the pool may have left of other tests.
    nbytes = 1 << 30
    with pytest.raises(OutOfMemory, match=f"{nbytes} bytes") as caught:
        device.buffer(nbytes)
    assert caught.value.result == "VK_ERROR_OUT_OF_DEVICE_MEMORY"


def test_no_memory_type_is_out_of_memory(device: Device) -> None:
    with pytest.raises(OutOfMemory, match="no memory type"):
        memory_type(device.logical, 0, 0, 0)


def test_closed_buffers_say_so(device: Device) -> None:
    buffer = device.buffer(16)
    buffer.close()
    buffer.close()
    with pytest.raises(DriverError, match="closed"):
        buffer.read()
    with pytest.raises(DriverError, match="closed"):
        buffer.write(np.zeros(4, np.uint8))


def test_buffers_for_arrays_are_used_again(device: Device) -> None:
    first = device.logical.take_buffer(5000)
    assert isinstance(first, DeviceBuffer)
    assert first.nbytes == 8192
    serial = first.serial
    device.logical.give_buffer(first)
    again = device.logical.take_buffer(8000)
    assert again.serial == serial
    device.logical.give_buffer(again)

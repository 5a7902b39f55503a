"""Buffers shared with CUDA, through a driver of the tests' own: views out and in, order, lifetime."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Any

import numpy as np
import pytest
from fake_cuda import OUT_OF_MEMORY, FakeCuda, Tensor, pointer_of, view

import vkgroup
from vkgroup import kernels
from vkgroup.base import errors
from vkgroup.device import cuda
from vkgroup.dispatch import Copy, Dispatch, Fill
from vkgroup.dispatch.vulkan.device import VulkanDevice

DOUBLE = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { if (gl_GlobalInvocationID.x < values.length()) values[gl_GlobalInvocationID.x] *= 2.0; }
"""
ADD = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Source { float source[]; };
layout(std430, binding = 1) writeonly buffer Target { float target[]; };
void main() { target[gl_GlobalInvocationID.x] = source[gl_GlobalInvocationID.x] + 1.0; }
"""
RAMP = np.arange(128, dtype=np.float32)


def tensor_of(driver: FakeCuda, buffer: Any) -> Tensor:
    """Take a buffer over as torch.from_dlpack does."""
    elements, device = view(buffer.__dlpack__(stream=Tensor.stream, max_version=(1, 0)))
    assert device == (2, 1)
    return Tensor(driver, elements.ctypes.data, elements.dtype, elements.shape, owner=elements)


def test_layouts_are_those_of_the_driver_api() -> None:
    handle, mapped = cuda._MemoryHandle, cuda._MappedBuffer
    offsets = [getattr(handle, name).offset for name in ("type", "handle", "size", "flags", "reserved")]
    assert (offsets, ctypes.sizeof(handle)) == ([0, 8, 24, 32, 36], 104)
    offsets = [getattr(mapped, name).offset for name in ("offset", "size", "flags", "reserved")]
    assert (offsets, ctypes.sizeof(mapped)) == ([0, 8, 16, 20], 88)


def test_a_buffer_goes_out_without_a_copy(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP.reshape(4, 32), shared=True)
    assert buffer.__dlpack_device__() == (2, 1)
    for version, name in (((1, 0), b"dltensor_versioned"), (None, b"dltensor")):
        capsule = buffer.__dlpack__(stream=1, max_version=version)
        assert pointer_of(capsule)[1] == name
        elements, device = view(capsule)
        assert (device, elements.shape, elements.dtype) == ((2, 1), (4, 32), np.dtype(np.float32))
        np.testing.assert_array_equal(elements, RAMP.reshape(4, 32))
    tensor = tensor_of(driver, buffer)
    tensor.values[:] = 5
    np.testing.assert_array_equal(buffer.read(), np.full((4, 32), 5, np.float32))
    assert driver.calls.count("cuImportExternalMemory") == 1


def test_a_view_goes_out_from_its_first_byte(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    tensor = tensor_of(driver, buffer.view(np.uint32, (3, 2), offset=256))
    np.testing.assert_array_equal(tensor.values, RAMP[64:70].view(np.uint32).reshape(3, 2))


def test_the_array_interface_of_cuda(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP.astype(np.int16), shared=True)
    tensor = tensor_of(driver, buffer)
    tensor.later(lambda values: values.__setitem__(0, 9))
    interface = buffer.__cuda_array_interface__
    assert driver.idle, "whoever reads the interface without a stream has no order but this"
    assert interface == {
        "version": 3,
        "shape": (128,),
        "typestr": "<i2",
        "data": (tensor.address, False),
        "strides": None,
        "stream": None,
    }
    pairs = shared_device.buffer(np.zeros(2, [("a", "<f4"), ("b", "<i4")]), shared=True)
    assert pairs.__cuda_array_interface__["descr"] == [("a", "<f4"), ("b", "<i4")]


def test_an_array_is_used_in_place(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    tensor = tensor_of(driver, shared_device.buffer(RAMP, shared=True))
    tensor.later(lambda values: np.add(values, 1, out=values))
    result = shared_device.run(DOUBLE, 2, {"values": tensor})
    assert result["values"] is tensor
    np.testing.assert_array_equal(tensor.values, (RAMP + 1) * 2)
    assert "cuMemcpyDtoDAsync_v2" not in driver.calls


def test_part_of_an_array_is_used_in_place(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    whole = tensor_of(driver, shared_device.buffer(RAMP, shared=True))
    part = Tensor(driver, whole.address + 256, np.float32, (64,), owner=whole)
    shared_device.run(DOUBLE, 1, {"values": part})
    np.testing.assert_array_equal(whole.values, np.where(RAMP < 64, RAMP, 2 * RAMP))
    assert "cuMemcpyDtoDAsync_v2" not in driver.calls


def test_an_array_that_cannot_be_bound_where_it_lies_is_copied(
    shared_device: VulkanDevice, driver: FakeCuda
) -> None:
    whole = tensor_of(driver, shared_device.buffer(RAMP, shared=True))
    part = Tensor(driver, whole.address + 4, np.float32, (64,), owner=whole)
    shared_device.run(DOUBLE, 1, {"values": part})
    np.testing.assert_array_equal(whole.values[:66], [0, *(2 * RAMP[1:65]), 65])


def test_other_arrays_are_copied_on_the_gpu_and_back(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    source, target = Tensor.of(driver, RAMP), Tensor.of(driver, np.zeros_like(RAMP))
    source.later(lambda values: np.negative(values, out=values))
    for _ in range(2):
        result = shared_device.run(ADD, 2, {"source": source, "target": target})
    assert result["target"] is target
    assert len(result) == 1, "the source is only read"
    np.testing.assert_array_equal(target.values, 1 - RAMP)
    np.testing.assert_array_equal(source.values, -RAMP)
    # In before, out after what the shader may write; the second run takes the buffers of the first.
    assert driver.calls.count("cuMemcpyDtoDAsync_v2") == 6
    assert driver.calls.count("cuImportExternalMemory") == 2


def test_the_producer_is_given_a_stream_to_wait_in(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    tensor = Tensor.of(driver, RAMP)
    shared_device.run(DOUBLE, 2, {"values": tensor})
    stream = shared_device.logical.sharing.cuda.stream  # type: ignore[union-attr]
    assert tensor.asked == [{"stream": stream, "max_version": (1, 0)}]
    assert stream > 2, "0 to 2 mean CUDA's default streams"


def test_every_kind_of_work_waits_for_cuda(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    other = shared_device.buffer(np.zeros_like(RAMP))
    tensor = tensor_of(driver, buffer)
    module = shared_device.compile(DOUBLE)
    with shared_device.pipeline(module) as pipeline, pipeline.bind({"values": buffer}) as bound:
        works: list[Any] = [
            lambda: bound.dispatch(2),
            lambda: bound.timed(2),
            shared_device.sequence([Dispatch(bound, 2)]).run,
            shared_device.sequence([Copy(buffer, other)]).run,
            shared_device.sequence([Fill(buffer, 0, 508)]).timed,
            buffer.read,
            lambda: buffer.write(RAMP[:1]),
            lambda: buffer.__dlpack__(stream=1),
        ]
        for number, work in enumerate(works):
            tensor.later(lambda values: values.__setitem__(64, 3))
            work()
            assert driver.idle, number
        tensor.later(lambda values: values.__setitem__(64, 3))
        buffer.__dlpack__(stream=-1)
        assert not driver.idle, "-1 asks for no order"
        driver.flush()


def test_work_takes_shared_buffers_over_and_gives_them_back(shared_device: VulkanDevice) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    shared = buffer.in_cuda  # type: ignore[attr-defined]
    with shared_device.pipeline(shared_device.compile(ADD)) as pipeline:
        bound: Any = pipeline.bind({"source": buffer, "target": buffer})
        found = list(bound._commands._handles)
        assert found == [shared.acquire, bound._commands.handle, shared.release]
        plain: Any = pipeline.bind({"source": RAMP, "target": RAMP})
        assert list(plain._commands._handles) == [plain._commands.handle]


def test_work_without_shared_memory_does_not_wait(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    tensor = tensor_of(driver, shared_device.buffer(RAMP, shared=True))
    tensor.later(lambda values: values.fill(0))
    shared_device.run(DOUBLE, 2, {"values": RAMP})
    assert not driver.idle
    driver.flush()


def test_counts_in_shared_memory_are_read_behind_cuda(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    counts = shared_device.buffer(np.array([0, 1, 1], np.uint32), shared=True)
    tensor = tensor_of(driver, counts)
    tensor.later(lambda values: values.__setitem__(0, 2))
    values = shared_device.buffer(RAMP)
    with shared_device.pipeline(shared_device.compile(DOUBLE)) as pipeline:
        pipeline.bind({"values": values}).dispatch_indirect(counts)
    np.testing.assert_array_equal(values.read(), 2 * RAMP)


def test_from_dlpack_makes_buffers(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    tensor = tensor_of(driver, shared_device.buffer(RAMP.reshape(2, 64), shared=True))
    same = shared_device.from_dlpack(tensor, copy=False)
    assert (same.shape, same.dtype) == ((2, 64), np.dtype(np.float32))
    same.write(RAMP[:1] + 7)
    assert tensor.values[0, 0] == 7
    copied = shared_device.from_dlpack(tensor, copy=True)
    copied.write(RAMP[:1])
    assert (tensor.values[0, 0], copied.__dlpack_device__()) == (7, (2, 1))
    foreign = Tensor.of(driver, RAMP)
    np.testing.assert_array_equal(shared_device.from_dlpack(foreign).read(), RAMP)
    with pytest.raises(errors.NotShareable, match="vkgroup has not exported its memory"):
        shared_device.from_dlpack(foreign, copy=False)
    np.testing.assert_array_equal(shared_device.from_dlpack(RAMP).read(), RAMP)
    with pytest.raises(errors.NotShareable, match="always copied"):
        shared_device.from_dlpack(RAMP, copy=False)


def test_kernels_take_arrays_and_give_shared_buffers(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    values = np.array([3, 1, 1, 7, 3, 3] * 50, np.uint32)
    tensor = tensor_of(driver, shared_device.buffer(values, shared=True))
    tensor.later(lambda found: found.__setitem__(0, 1))
    values[0] = 1
    counts = kernels.bincount(tensor, device=shared_device)
    assert isinstance(counts, vkgroup.Buffer)
    np.testing.assert_array_equal(tensor_of(driver, counts).values, np.bincount(values))
    assert "cuMemcpyDtoDAsync_v2" not in driver.calls


def test_a_view_of_an_array_keeps_its_memory(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.from_dlpack(tensor_of(driver, shared_device.buffer(RAMP, shared=True)))
    gc.collect()
    np.testing.assert_array_equal(buffer.read(), RAMP)
    del buffer
    gc.collect()
    assert not driver.mapped


def test_memory_is_freed_with_its_last_view(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    first, second = tensor_of(driver, buffer), tensor_of(driver, buffer)
    interface = buffer.__cuda_array_interface__["data"][0]
    assert interface == first.address
    buffer.close()
    with pytest.raises(errors.DriverError, match="closed"):
        buffer.__dlpack__()
    with pytest.raises(errors.InvalidDispatch, match="closed"):
        shared_device.run(DOUBLE, 2, {"values": first})
    np.testing.assert_array_equal(first.values, RAMP)
    del first
    gc.collect()
    assert driver.mapped
    driver.later(Tensor.stream, lambda: None)
    del second
    gc.collect()
    assert driver.mapped, "the buffer still refers to what its interface told"
    del buffer
    gc.collect()
    assert not driver.mapped
    assert driver.idle, "the memory was freed behind what CUDA had under way"


def test_a_device_closes_while_its_memory_is_lent(driver: FakeCuda, swiftshader: Any) -> None:
    device = vkgroup.open(swiftshader.name)
    driver.uuids.append(device.capabilities.uuid)
    tensor = tensor_of(driver, device.buffer(RAMP, shared=True))
    device.close()
    np.testing.assert_array_equal(tensor.values, RAMP)
    assert driver.mapped
    del tensor
    gc.collect()
    assert driver.clean()


def test_copies_are_had_where_they_are_asked_for(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    host, device = view(buffer.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert device == (1, 0)
    np.testing.assert_array_equal(host, RAMP)
    capsule = buffer.__dlpack__(stream=1, copy=True, max_version=(1, 0))
    pointer, _ = pointer_of(capsule)
    assert ctypes.c_uint64.from_address(pointer + 24).value & 2, "DLPACK_FLAG_BITMASK_IS_COPIED"
    copied, device = view(capsule)
    assert device == (2, 1)
    copied[:] = 0
    np.testing.assert_array_equal(buffer.read(), RAMP)
    for wrong in ({"dl_device": (1, 0), "copy": False}, {"dl_device": (2, 0)}, {"stream": 0}):
        with pytest.raises(BufferError):
            buffer.__dlpack__(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda cuda: Tensor.of(cuda, RAMP, ordinal=0), "lies on CUDA device 0; .* is CUDA device 1"),
        (lambda cuda: Tensor.of(cuda, RAMP.reshape(8, 16), strides=(1, 8)), "not contiguous"),
        (lambda cuda: Tensor.of(cuda, RAMP.astype(np.float64)), "float64"),
        (lambda cuda: Tensor.of(cuda, RAMP, read_only=True), "read-only"),
        (lambda cuda: Tensor(cuda, cuda.allocate(RAMP), np.float32, (0,)), "empty"),
    ],
)
def test_arrays_that_cannot_be_bound_are_refused(
    shared_device: VulkanDevice, driver: FakeCuda, make: Any, message: str
) -> None:
    with pytest.raises(errors.InvalidDispatch, match=message):
        shared_device.run(DOUBLE, 2, {"values": make(driver)})


def test_a_read_only_array_can_be_read(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    source = Tensor.of(driver, RAMP, read_only=True)
    result = shared_device.run(ADD, 2, {"source": source, "target": np.zeros_like(RAMP)})
    np.testing.assert_array_equal(result["target"], RAMP + 1)


class OnlyInterface:
    """An array that knows the CUDA array interface alone, as those of numba do."""

    def __init__(self, tensor: Tensor, **more: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": tensor.shape,
            "typestr": tensor.dtype.str,
            "data": (tensor.address, False),
            **more,
        }


def test_arrays_with_the_interface_alone(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    tensor = tensor_of(driver, shared_device.buffer(RAMP, shared=True))
    tensor.later(lambda values: np.add(values, 1, out=values))
    shared_device.run(DOUBLE, 2, {"values": OnlyInterface(tensor, strides=(4,))})
    np.testing.assert_array_equal(tensor.values, 2 * (RAMP + 1))
    with pytest.raises(errors.InvalidDispatch):
        shared_device.run(DOUBLE, 2, {"values": OnlyInterface(tensor, strides=(8,))})


def test_an_array_is_no_image(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    shader = """#version 460
        layout(r32f, binding = 0) uniform image2D picture;
        void main() { imageStore(picture, ivec2(0), vec4(1)); }"""
    with pytest.raises(errors.InvalidDispatch, match="is an image"):
        shared_device.run(shader, 1, {"picture": Tensor.of(driver, RAMP.reshape(8, 16))})
    with pytest.raises(errors.InvalidDispatch, match="lies on CUDA device 1"):
        shared_device.buffer(Tensor.of(driver, RAMP))  # type: ignore[arg-type]


def test_a_failed_import_leaves_nothing_behind(shared_device: VulkanDevice, driver: FakeCuda) -> None:
    buffer = shared_device.buffer(RAMP, shared=True)
    for name in ("cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer"):
        driver.failing = {name: OUT_OF_MEMORY}
        files = len(os.listdir("/proc/self/fd"))
        with pytest.raises(errors.DriverError, match=f"{name} .*CUDA_ERROR_OUT_OF_MEMORY"):
            buffer.__dlpack__(stream=1)
        assert len(os.listdir("/proc/self/fd")) == files
        assert driver.clean()
    driver.failing = {}
    np.testing.assert_array_equal(tensor_of(driver, buffer).values, RAMP)


def test_a_device_that_cuda_lacks_shares_on_the_host(driver: FakeCuda, swiftshader: Any) -> None:
    with vkgroup.open(swiftshader.name) as device:
        buffer = device.buffer(RAMP, shared=True)
        assert buffer.__dlpack_device__() == (1, 0)
        assert not hasattr(buffer, "__cuda_array_interface__")
        with pytest.raises(errors.InvalidDispatch, match="CUDA has no device of its UUID"):
            device.run(DOUBLE, 2, {"values": Tensor.of(driver, RAMP)})


def test_what_is_shared_is_not_kept_in_the_hosts_memory(shared_device: VulkanDevice) -> None:
    with pytest.raises(errors.InvalidDispatch, match="not both"):
        shared_device.buffer(RAMP, host=True, shared=True)
    assert shared_device.buffer(RAMP, host=True).__dlpack_device__() == (1, 0)


def test_a_driver_that_does_not_start_is_none(driver: FakeCuda, swiftshader: Any) -> None:
    driver.failing = {"cuInit": 201}
    with (
        vkgroup.open(swiftshader.name) as device,
        pytest.raises(errors.InvalidDispatch, match="CUDA_ERROR_INVALID_CONTEXT"),
    ):
        device.run(DOUBLE, 2, {"values": Tensor.of(driver, RAMP)})

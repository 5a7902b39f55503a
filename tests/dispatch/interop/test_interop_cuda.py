"""Zero copy with torch and CuPy on a real GPU; run with ``--gpu`` where the libraries are there."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup import interop
from vkgroup.base import errors
from vkgroup.device.cuda import CudaDevice
from vkgroup.dispatch.vulkan.device import VulkanDevice

pytestmark = pytest.mark.gpu

DOUBLE = """#version 460
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < values.length()) values[i] *= 2.0;
}
"""
#: Over more workgroups than a row of the grid may have everywhere.
INCREMENT = DOUBLE.replace("*= 2.0", "+= 1.0").replace(
    "gl_GlobalInvocationID.x", "gl_GlobalInvocationID.y * 256 * 4096 + gl_GlobalInvocationID.x"
)
ADD = """#version 460
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Source { float source[]; };
layout(std430, binding = 1) writeonly buffer Target { float target[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < source.length()) target[i] = source[i] + 1.0;
}
"""
COUNT = 1 << 20
GROUPS = COUNT // 256
LARGE = 1 << 26
"""Number of elements that keeps a GPU busy long enough to detect a missing wait."""


@pytest.fixture(scope="module")
def gpu() -> Iterator[VulkanDevice]:
    """The GPU, which CUDA has too."""
    with vkgroup.open("gpu") as device:
        assert isinstance(device, VulkanDevice)
        assert device.logical.sharing is not None
        yield device


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a copy on the GPU fail."""

    def refuse(*arguments: Any) -> None:
        pytest.fail("an array was copied")

    monkeypatch.setattr(CudaDevice, "copy", refuse)


@pytest.fixture(scope="module")
def torch() -> Any:
    return importlib.import_module("torch")


@pytest.fixture(scope="module")
def cupy() -> Any:
    return importlib.import_module("cupy")


def test_torch_views_a_buffer(gpu: VulkanDevice, torch: Any, no_copies: None) -> None:
    ramp = np.arange(COUNT, dtype=np.float32).reshape(1024, 1024)
    buffer = gpu.buffer(ramp, shared=True)
    tensor = torch.from_dlpack(buffer)
    assert (tuple(tensor.shape), tensor.dtype, tensor.is_cuda) == (ramp.shape, torch.float32, True)
    assert tensor.data_ptr() == torch.from_dlpack(buffer).data_ptr()
    assert torch.equal(tensor.cpu(), torch.from_numpy(ramp))
    tensor += 1
    np.testing.assert_array_equal(buffer.read(), ramp + 1)
    gpu.run(DOUBLE, GROUPS, {"values": buffer})
    assert torch.equal(tensor.cpu(), torch.from_numpy(2 * (ramp + 1)))


def test_cupy_views_a_buffer(gpu: VulkanDevice, cupy: Any, no_copies: None) -> None:
    ramp = np.arange(COUNT, dtype=np.float32)
    buffer = gpu.buffer(ramp, shared=True)
    views = [cupy.from_dlpack(buffer), cupy.asarray(buffer)]
    assert len({view.data.ptr for view in views}) == 1
    for view in views:
        view += 1
    gpu.run(DOUBLE, GROUPS, {"values": buffer})
    for view in views:
        np.testing.assert_array_equal(cupy.asnumpy(view), 2 * (ramp + 2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float64", "bool"])
def test_torch_has_the_dtype(gpu: VulkanDevice, torch: Any, dtype: str) -> None:
    values = np.arange(12).astype(dtype).reshape(3, 4)
    tensor = torch.from_dlpack(gpu.buffer(values, shared=True))
    assert tensor.dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(tensor.cpu().numpy(), values)
    back = gpu.from_dlpack(tensor, copy=False)
    assert (back.dtype, back.shape) == (values.dtype, (3, 4))


def test_tensors_are_used_in_place(gpu: VulkanDevice, torch: Any, no_copies: None) -> None:
    whole = torch.from_dlpack(gpu.empty(2 * COUNT, shared=True))
    whole.fill_(3)
    result = gpu.run(DOUBLE, GROUPS, {"values": whole[COUNT:]})
    assert result["values"].data_ptr() == whole[COUNT:].data_ptr()
    assert bool((whole[:COUNT] == 3).all())
    assert bool((whole[COUNT:] == 6).all())


def test_cupy_arrays_are_used_in_place(gpu: VulkanDevice, cupy: Any, no_copies: None) -> None:
    array = cupy.asarray(gpu.empty(COUNT, shared=True))
    array[:] = 3
    gpu.run(DOUBLE, GROUPS, {"values": array})
    assert bool((array == 6).all())


def test_other_tensors_are_copied_on_the_gpu(gpu: VulkanDevice, torch: Any) -> None:
    source = torch.rand(COUNT, device="cuda")
    target = torch.zeros_like(source)
    for _ in range(3):
        source *= 3
        result = gpu.run(ADD, GROUPS, {"source": source, "target": target})
        assert result["target"] is target
        assert torch.equal(target, source + 1)


def test_other_cupy_arrays_are_copied_on_the_gpu(gpu: VulkanDevice, cupy: Any) -> None:
    source, target = cupy.arange(COUNT, dtype=cupy.float32), cupy.zeros(COUNT, cupy.float32)
    gpu.run(ADD, GROUPS, {"source": source, "target": target})
    assert bool((target == source + 1).all())


def test_a_tensor_that_cannot_be_bound_where_it_lies_is_copied(gpu: VulkanDevice, torch: Any) -> None:
    whole = torch.from_dlpack(gpu.empty(COUNT + 2, shared=True))
    whole.fill_(3)
    gpu.run(DOUBLE, GROUPS, {"values": whole[1:-1]})
    assert whole.sum(dtype=torch.float64).item() == 6 * COUNT + 6


@pytest.mark.parametrize("place", ["default", "side"])
def test_work_waits_for_torch_and_torch_for_work(gpu: VulkanDevice, torch: Any, place: str) -> None:
    tensor = torch.from_dlpack(gpu.buffer(np.zeros(LARGE, np.float32), shared=True))
    stream = torch.cuda.default_stream() if place == "default" else torch.cuda.Stream()
    module, groups = gpu.compile(INCREMENT), (4096, LARGE // 256 // 4096)
    with torch.cuda.stream(stream):
        for _ in range(30):
            for _ in range(5):
                tensor += 1
            gpu.run(module, groups, {"values": tensor})
        lowest, highest = torch.aminmax(tensor)
    stream.synchronize()
    assert (lowest.item(), highest.item()) == (180, 180)


def test_a_stream_of_cupy_is_waited_for(gpu: VulkanDevice, cupy: Any) -> None:
    buffer = gpu.buffer(np.zeros(LARGE, np.float32), shared=True)
    array = cupy.from_dlpack(buffer)
    with cupy.cuda.Stream(non_blocking=True):
        for count in range(20):
            array += 1
            assert buffer.read(shape=1, offset=4 * (LARGE - 1))[0] == count + 1


def test_a_pool_of_torch(gpu: VulkanDevice, torch: Any, no_copies: None) -> None:
    sharing = gpu.logical.sharing
    assert sharing is not None
    gc.collect()
    before = len(sharing._starts)
    pool = interop.torch_pool(gpu)
    with torch.cuda.use_mem_pool(pool):
        tensors = [torch.full((COUNT,), float(number), device="cuda") for number in range(4)]
        small = torch.ones(100, device="cuda")
    assert len(sharing._starts) > before
    for number, tensor in enumerate(tensors):
        gpu.run(DOUBLE, GROUPS, {"values": tensor})
        assert bool((tensor == 2 * number).all())
    gpu.run(DOUBLE, 1, {"values": small})
    assert bool((small == 2).all())
    del tensors, tensor, small
    gc.collect()
    del pool
    gc.collect()
    torch.cuda.empty_cache()
    assert len(sharing._starts) == before


def test_an_allocator_of_cupy(gpu: VulkanDevice, cupy: Any, no_copies: None) -> None:
    with cupy.cuda.using_allocator(interop.cupy_allocator(gpu)):
        source = cupy.random.random(COUNT, dtype=cupy.float32)
        target = cupy.empty_like(source)
    gpu.run(ADD, GROUPS, {"source": source, "target": target})
    assert bool((target == source + 1).all())


def test_a_tensor_outlives_buffer_and_device(torch: Any) -> None:
    device = vkgroup.open("gpu")
    buffer = device.buffer(np.full(COUNT, 7, np.float32), shared=True)
    tensor = torch.from_dlpack(buffer)
    buffer.close()
    with pytest.raises(errors.InvalidDispatch, match="closed"):
        device.run(DOUBLE, GROUPS, {"values": tensor})
    device.close()
    tensor += 1
    assert bool((tensor == 8).all())
    del tensor
    gc.collect()
    torch.cuda.synchronize()


def test_what_cannot_be_bound_is_refused(gpu: VulkanDevice, torch: Any) -> None:
    square = torch.ones(64, 64, device="cuda")
    for given, message in (
        (square.t()[1:], "not contiguous"),
        (square.double(), "float64"),
        (square.bfloat16(), "bfloat16"),
        (torch.ones(64, device="cuda", requires_grad=True), "detach"),
        (square[:0], "empty"),
    ):
        with pytest.raises(errors.InvalidDispatch, match=message):
            gpu.run(DOUBLE, 1, {"values": given})


def test_tensors_of_the_host_go_as_arrays(gpu: VulkanDevice, torch: Any) -> None:
    tensor = torch.ones(COUNT)
    result = gpu.run(DOUBLE, GROUPS, {"values": tensor})
    np.testing.assert_array_equal(result["values"], np.full(COUNT, 2, np.float32))
    assert bool((tensor == 1).all())


def test_a_buffer_that_is_not_shared_says_so(gpu: VulkanDevice, torch: Any) -> None:
    buffer = gpu.buffer(np.ones(8, np.float32))
    with pytest.raises(BufferError, match="shared=True"):
        torch.from_dlpack(buffer)
    host = gpu.buffer(np.ones(8, np.float32), host=True)
    assert torch.from_dlpack(host).device.type == "cpu"

"""Allocators for CuPy and torch, called as those libraries call them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeCuda, Tensor
from refusals import lacks

import vkgroup
from vkgroup import interop
from vkgroup.dispatch.vulkan.device import VulkanDevice

DOUBLE = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[gl_GlobalInvocationID.x] *= 2.0; }
"""


class Chunk:
    """Memory as from CuPy's PythonFunctionAllocator, freed with the last reference to it."""

    def __init__(
        self, size: int, functions: tuple[Callable[..., Any], Callable[..., Any]], device: int
    ) -> None:
        self._free, self._device = functions[1], device
        self.ptr = functions[0](size, device)

    def __del__(self) -> None:
        if hasattr(self, "ptr"):
            self._free(self.ptr, self._device)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """As much of CuPy as the allocator uses, on device 1."""
    cuda = SimpleNamespace(
        PythonFunctionAllocator=lambda malloc, free: SimpleNamespace(
            malloc=lambda size: Chunk(size, (malloc, free), 1)
        ),
        MemoryPool=lambda allocator: SimpleNamespace(malloc=lambda size: allocator(max(size, 512))),
    )
    module = ModuleType("cupy")
    module.cuda = cuda  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", module)
    return cuda


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of torch as the pool uses: it keeps addresses of functions, and no Python objects."""
    module = ModuleType("torch")
    module._C = SimpleNamespace(  # type: ignore[attr-defined]
        _cuda_customAllocator=lambda allocate, free: (
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)(allocate),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(free),
        )
    )
    module.cuda = SimpleNamespace(MemPool=lambda allocator: allocator)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


def test_arrays_of_cupy_are_used_in_place(
    shared_device: VulkanDevice, driver: FakeCuda, cupy: SimpleNamespace
) -> None:
    chunk = interop.cupy_allocator(shared_device)(1000)
    tensor = Tensor(driver, chunk.ptr + 256, np.float32, (64,), owner=chunk)
    tensor.values[:] = 3
    shared_device.run(DOUBLE, 1, {"values": tensor})
    np.testing.assert_array_equal(tensor.values, np.full(64, 6, np.float32))
    assert "cuMemcpyDtoDAsync_v2" not in driver.calls
    del tensor, chunk
    assert not driver.mapped


def test_tensors_of_torch_are_used_in_place(
    shared_device: VulkanDevice, driver: FakeCuda, torch: None
) -> None:
    allocate, free = interop.torch_pool(shared_device)
    first, second = (allocate(2 << 20, 1, None) for _ in range(2))
    tensor = Tensor(driver, second + 512, np.float32, (64,))
    tensor.later(lambda values: values.fill(3))
    shared_device.run(DOUBLE, 1, {"values": tensor})
    np.testing.assert_array_equal(tensor.values, np.full(64, 6, np.float32))
    driver.later(9, lambda: None)
    free(second, 2 << 20, 1, None)
    assert driver.idle, "memory is freed behind what CUDA has under way"
    assert list(driver.mapped) == [first]
    free(first, 2 << 20, 1, None)
    assert not driver.mapped


def test_memory_outlives_the_device(driver: FakeCuda, swiftshader: Any, cupy: SimpleNamespace) -> None:
    device = vkgroup.open(swiftshader.name)
    driver.uuids.append(device.capabilities.uuid)
    chunk = interop.cupy_allocator(device)(64)
    device.close()
    tensor = Tensor(driver, chunk.ptr, np.uint8, (64,), owner=chunk)
    tensor.values[:] = 1
    assert tensor.values.all()
    del tensor, chunk
    assert driver.clean()


def test_torch_is_told_of_failure_by_null(
    shared_device: VulkanDevice, torch: None, capsys: pytest.CaptureFixture[str]
) -> None:
    allocate, _ = interop.torch_pool(shared_device)
    assert allocate(64, 0, None) is None
    assert "CUDA device 0 was requested" in capsys.readouterr().err
    assert allocate(1 << 60, 1, None) is None
    assert "over the limit" in capsys.readouterr().err


def test_devices_that_share_nothing_are_refused(
    driver: FakeCuda, swiftshader: Any, cupy: SimpleNamespace
) -> None:
    with (
        vkgroup.open(swiftshader.name) as device,
        lacks("VK_KHR_external_memory_fd with a CUDA device of the same UUID"),
    ):
        interop.cupy_allocator(device)
    with vkgroup.open("reference") as device, lacks("VK_KHR_external_memory_fd"):
        interop.cupy_allocator(device)


def test_a_library_that_is_not_there_is_named(
    shared_device: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with lacks("torch"):
        interop.torch_pool(shared_device)

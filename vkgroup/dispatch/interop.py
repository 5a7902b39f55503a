"""Other array libraries: allocators whose arrays vkgroup can use without a copy.

Single arrays need no allocator: ``torch.from_dlpack(device.empty(shape, shared=True))`` is a tensor in shared
memory. The allocators are for code that creates its own arrays.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

from vkgroup.base.errors import DriverError, Unsupported
from vkgroup.device.sharing import MemoryReference, why_unshared
from vkgroup.dispatch import Device
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.device import VulkanDevice

__all__ = ["cupy_allocator", "torch_pool"]

#: Arguments of ``torch.cuda.memory.CUDAPluggableAllocator``: size, device, stream; for free also the address.
_Allocate = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_int, c_void_p)
_Free = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_int, c_void_p)

#: torch calls the functions until the process ends, but holds no references to them.
_kept: list[Any] = []


class SharedAllocator:
    """Allocates memory of a device by CUDA address; only `free` frees it, even after the device is closed."""

    def __init__(self, device: Device) -> None:
        if not isinstance(device, VulkanDevice):
            raise Unsupported(f"{device.name} shares no memory with CUDA.", ["VK_KHR_external_memory_fd"])
        if device.logical.sharing is None:
            raise Unsupported(
                f"{device.name} shares no memory with CUDA: {why_unshared(device.logical)}.",
                ["VK_KHR_external_memory_fd with a CUDA device of the same UUID"],
            )
        self._device, self._cuda = device, device.logical.sharing.cuda
        self._held: dict[int, tuple[VulkanBuffer, MemoryReference]] = {}

    def allocate(self, nbytes: int, ordinal: int) -> int:
        """Return the address of `nbytes` of new memory on the GPU with CUDA's number `ordinal`."""
        if ordinal != self._cuda.ordinal:
            raise DriverError(
                f"CUDA device {ordinal} was requested, but {self._device.name} is {self._cuda.ordinal}."
            )
        buffer = self._device.buffer(nbytes, shared=True)
        assert isinstance(buffer, VulkanBuffer)
        address = buffer.in_cuda.address
        self._held[address] = buffer, MemoryReference(buffer.memory)
        return address

    def free(self, address: int, ordinal: int = 0) -> None:
        """Free memory of `allocate` after CUDA has finished all submitted work."""
        buffer, reference = self._held.pop(address)
        reference.release()
        buffer.close()


def library(name: str) -> Any:
    """Import an optional library; raises `Unsupported` if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Unsupported(f"The Python package {name} is not installed here.", [name]) from error


def cupy_allocator(device: Device) -> Callable[[int], Any]:
    """Make an allocator for CuPy whose arrays vkgroup uses in place.

    Freed memory goes to a separate pool (`cupy.cuda.MemoryPool`), so that allocations are fast.

    Parameters
    ----------
    device : an open GPU that CUDA has too.

    Returns
    -------
    An allocator for `cupy.cuda.set_allocator` and `cupy.cuda.using_allocator`.

    Raises
    ------
    Unsupported
        The device shares no memory with CUDA, or CuPy is not installed.

    Examples
    --------
    >>> with cupy.cuda.using_allocator(vkgroup.interop.cupy_allocator(device)):
    ...     x = cupy.random.random(1 << 20, dtype=cupy.float32)
    >>> device.run("scale.comp", groups, {"values": x})
    """
    cuda = library("cupy").cuda
    memory = SharedAllocator(device)
    source = cuda.PythonFunctionAllocator(memory.allocate, memory.free)
    allocate: Callable[[int], Any] = cuda.MemoryPool(source.malloc).malloc
    return allocate


def torch_pool(device: Device) -> Any:
    """Make a pool for torch whose tensors vkgroup uses in place.

    For large blocks torch calls Python while it holds a lock of its allocator. Create and release tensors of
    the pool in one thread, the thread that uses the device.

    Parameters
    ----------
    device : an open GPU that CUDA has too.

    Returns
    -------
    A `torch.cuda.MemPool`, for `torch.cuda.use_mem_pool`. torch frees its memory when it is deleted.

    Raises
    ------
    Unsupported
        The device shares no memory with CUDA, or torch is not installed.

    Examples
    --------
    >>> pool = vkgroup.interop.torch_pool(device)
    >>> with torch.cuda.use_mem_pool(pool):
    ...     x = torch.rand(1 << 20, device="cuda")
    >>> device.run("scale.comp", groups, {"values": x})
    """
    torch = library("torch")
    memory = SharedAllocator(device)

    def allocate(nbytes: int, ordinal: int, stream: int | None) -> int:
        try:
            return memory.allocate(nbytes, ordinal)
        except Exception as error:  # exceptions cannot pass through torch; NULL means "out of memory"
            print(f"vkgroup: torch_pool allocates nothing: {error}", file=sys.stderr)
            return 0

    def free(address: int, nbytes: int, ordinal: int, stream: int | None) -> None:
        memory.free(address, ordinal)

    functions = _Allocate(allocate), _Free(free)
    allocator = torch._C._cuda_customAllocator(
        *(ctypes.cast(function, c_void_p).value for function in functions)
    )
    _kept.append((functions, allocator))
    return torch.cuda.MemPool(allocator)

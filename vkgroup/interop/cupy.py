"""CuPy arrays in the memory of a Vulkan device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.interop.allocator import SharedAllocator, library


def cupy_allocator(device: Device) -> Callable[[int], Any]:
    """Make an allocator for CuPy whose arrays vkgroup uses in place.

    Freed memory goes to its own pool (`cupy.cuda.MemoryPool`), so that allocations are quick.

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

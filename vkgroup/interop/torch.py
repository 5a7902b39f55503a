"""torch tensors in the memory of a Vulkan device."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.interop.allocator import SharedAllocator, library

#: As ``torch.cuda.memory.CUDAPluggableAllocator`` wants them: size, device, stream, and the address before.
_Allocate = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_int, c_void_p)
_Free = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_int, c_void_p)

#: torch calls the functions as long as the process lives, and holds none of them.
_kept: list[Any] = []


def torch_pool(device: Device) -> Any:
    """Make a pool for torch whose tensors vkgroup uses in place.

    torch calls back into Python for its large blocks, holding a lock of its allocator. Make tensors in the
    pool, and let go of them, in one thread, as all of a device is used.

    Parameters
    ----------
    device : an open GPU that CUDA has too.

    Returns
    -------
    A `torch.cuda.MemPool`, for `torch.cuda.use_mem_pool`. torch frees its memory when it is gone.

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
        except Exception as error:  # nothing goes through torch: it knows NULL, and then says "out of memory"
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

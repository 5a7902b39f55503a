"""Other array libraries: the public names of `vkgroup.dispatch.interop`."""

from __future__ import annotations

from vkgroup.dispatch.interop import SharedAllocator, cupy_allocator, library, torch_pool

__all__ = ["SharedAllocator", "cupy_allocator", "library", "torch_pool"]

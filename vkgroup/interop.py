"""Other array libraries: the public names of `vkgroup.dispatch.interop`."""

from __future__ import annotations

from vkgroup.dispatch.interop import cupy_allocator, torch_pool

__all__ = ["cupy_allocator", "torch_pool"]

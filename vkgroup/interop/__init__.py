"""Other array libraries: allocators whose arrays vkgroup can use without a copy.

Single arrays need none of this: ``torch.from_dlpack(device.empty(shape, shared=True))`` is a tensor in memory
that both sides use. The allocators are for code that makes its arrays itself.
"""

from __future__ import annotations

from vkgroup.interop.allocator import cupy_allocator, torch_pool

__all__ = ["cupy_allocator", "torch_pool"]

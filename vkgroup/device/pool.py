"""Pool of device memory: buffers and images are parts of larger blocks, and freed memory is used again.

`vkAllocateMemory` and `vkFreeMemory` take 10 to 20 ms per GiB on an NVIDIA H200, and drivers limit the number
of allocations (maxMemoryAllocationCount, at least 4096). So small requests share blocks, which two-level
segregated fit divides (`vkgroup.device.segregated_fit`). A large request has a block of its own, which later
serves another request of about its size.

Freed memory remains allocated until `trim`, until an allocation fails, or until it exceeds a part of its
heap. Memory that the host can access is mapped as long as it is allocated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import OutOfMemory
from vkgroup.device import vk
from vkgroup.device.base import MemoryStatistics
from vkgroup.device.core import DeviceCore
from vkgroup.device.segregated_fit import SegregatedFit

LARGE = 16 << 20
"""Requests of at least this many bytes have their own blocks."""

_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 64 << 20

_SURPLUS = 1.25
"""How much larger than a request the cached block may be that serves it."""

#: Freed memory that remains allocated, as a part of its heap. Heaps of software drivers and integrated GPUs
#: are the memory of the whole computer.
_CACHED_ON_GPU, _CACHED_ON_HOST = 1 / 2, 1 / 8

_HOST_VISIBLE = vk.ffi.integer_const("VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT")


@dataclass(frozen=True)
class RequestKind:
    """Requests of one kind share blocks.

    Images have other blocks than buffers, so that bufferImageGranularity need not be kept (Vulkan 1.4, 12.7).
    """

    memory_type: int
    addressable: bool = False
    image: bool = False


class MemoryBlock:
    """A VkDeviceMemory, which is divided by `fit`, or is one allocation if `fit` is None.

    `mapped` is its address in the host's memory, or 0. Without a `kind` it is not used again.
    """

    def __init__(self, kind: RequestKind | None, handle: Any, size: int, mapped: int) -> None:
        self.kind, self.handle, self.size, self.mapped = kind, handle, size, mapped
        self.fit: SegregatedFit | None = None


class Allocation:
    """`size` bytes at `offset` in a block; `mapped` is their address in the host's memory, or 0."""

    __slots__ = ("block", "mapped", "offset", "size")

    def __init__(self, block: MemoryBlock, offset: int, size: int) -> None:
        self.block, self.offset, self.size = block, offset, size
        self.mapped = block.mapped + offset if block.mapped else 0

    @property
    def memory(self) -> Any:
        """The VkDeviceMemory."""
        return self.block.handle


class MemoryPool:
    """The memory of one device.

    Any thread may call `allocate` and `free`. Finalizers may call `free`, which never waits for the lock: if
    it is in use, perhaps in the thread in which the finalizer runs, the memory is taken back later.
    """

    def __init__(self, device: DeviceCore, properties: Any) -> None:
        self._device, self._functions, self._properties = device, device.functions, properties
        self._handle = device.handle
        self._most = int(device.capabilities.limits["maxMemoryAllocationCount"])
        self._part = _CACHED_ON_GPU if device.capabilities.type == "discrete_gpu" else _CACHED_ON_HOST
        # With a lock of its own, a finalizer that runs in the midst of an allocation and wants the device's
        # lock could wait for a thread that has that and wants to allocate.
        self._lock = device.lock
        self._busy = False
        self._freed: deque[Allocation] = deque()
        self._shared: dict[RequestKind, list[MemoryBlock]] = {}
        # Large blocks that nothing uses, the one that was freed last at the end.
        self._cached: list[MemoryBlock] = []
        self._allocations = self._in_use = self._peak = self._held = 0

    def allocate(
        self, kind: RequestKind, size: int, alignment: int, what: str, *, extra: Any = vk.NULL
    ) -> Allocation:
        """Return memory for an object of `size` bytes; `what` names it in errors.

        With `extra`, a chain of structs for VkMemoryAllocateInfo, it is a VkDeviceMemory for this object
        alone, which is not used again.

        Raises
        ------
        OutOfMemory
            The driver has no memory left, or allows no more allocations. `trim` may help.
        """
        with self._working():
            self._take_back()
            if extra != vk.NULL:
                allocation = Allocation(self._block(kind, size, what, extra, reusable=False), 0, size)
            elif size >= LARGE:
                allocation = self._large(kind, size, what)
            else:
                allocation = self._small(kind, size, alignment, what)
            self._in_use += allocation.size
            self._peak = max(self._peak, self._in_use)
        self._take_back_later()
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Take memory back whose object was destroyed."""
        self._freed.append(allocation)
        self._take_back_later()

    def statistics(self) -> MemoryStatistics:
        """Return the numbers of bytes and allocations."""
        with self._working():
            self._take_back()
            shared = [block for blocks in self._shared.values() for block in blocks]
            cached = sum(block.size for block in self._cached)
            cached += sum(block.size - (block.fit.used if block.fit else 0) for block in shared)
            # Counted anew, because Ctrl-C can come between an allocation and its addition.
            self._in_use = self._held - cached
            return MemoryStatistics(self._in_use, cached, self._peak, self._allocations, self._most)

    def trim(self) -> int:
        """Give all blocks back to the driver that nothing uses; returns the number of their bytes."""
        with self._working():
            self._take_back()
            return self._trim()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Hold the lock, and leave memory that finalizers free meanwhile for later."""
        with self._lock:
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _take_back_later(self) -> None:
        """Take freed memory back, unless the lock is in use: then the next call does so."""
        if self._freed and self._lock.acquire(blocking=False):
            try:
                if not self._busy:
                    with self._working():
                        self._take_back()
            finally:
                self._lock.release()

    def _take_back(self) -> None:
        while self._freed:
            # It leaves the queue last: if Ctrl-C comes before, the next call takes it back, all or the rest.
            allocation = self._freed[0]
            block = allocation.block
            if block.fit is not None:
                if allocation.offset in block.fit:
                    block.fit.free(allocation.offset)
            elif block.kind is not None and block not in self._cached:
                self._cached.append(block)
            self._in_use -= allocation.size
            self._freed.popleft()
            if block.fit is None and block.kind is None:
                self._release(block)
            elif block.fit is None and block.kind is not None:
                self._keep_within(block.kind)

    def _keep_within(self, kind: RequestKind) -> None:
        """Release the large blocks that were freed first, if a heap has too much memory that is not used."""
        heap = self._properties.memoryTypes[kind.memory_type].heapIndex
        most = self._properties.memoryHeaps[heap].size * self._part
        here = [
            block
            for block in self._cached
            if block.kind and self._properties.memoryTypes[block.kind.memory_type].heapIndex == heap
        ]
        unused = sum(block.size for block in here)
        for block in here:
            if unused <= most:
                return
            unused -= block.size
            self._cached.remove(block)
            self._release(block)

    def _small(self, kind: RequestKind, size: int, alignment: int, what: str) -> Allocation:
        blocks = self._shared.setdefault(kind, [])
        for block in reversed(blocks):
            assert block.fit is not None
            offset = block.fit.allocate(size, alignment)
            if offset is not None:
                return Allocation(block, offset, SegregatedFit.rounded(size))
        # Blocks grow with what they hold, so that a process with little data holds little memory.
        held = sum(block.size for block in blocks)
        wished = _power_of_two(max(_SMALLEST_BLOCK, held, 2 * size))
        try:
            block = self._block(kind, min(_LARGEST_BLOCK, wished), what)
        except OutOfMemory:
            block = self._block(kind, size + alignment, what)
        block.fit = SegregatedFit(block.size)
        blocks.append(block)
        offset = block.fit.allocate(size, alignment)
        assert offset is not None
        return Allocation(block, offset, SegregatedFit.rounded(size))

    def _large(self, kind: RequestKind, size: int, what: str) -> Allocation:
        fitting = [
            block for block in self._cached if block.kind == kind and size <= block.size <= size * _SURPLUS
        ]
        if fitting:
            block = min(reversed(fitting), key=lambda block: block.size)
            self._cached.remove(block)
        else:
            block = self._block(kind, size, what)
        return Allocation(block, 0, block.size)

    def _block(
        self, kind: RequestKind, size: int, what: str, extra: Any = vk.NULL, *, reusable: bool = True
    ) -> MemoryBlock:
        """Allocate from the driver."""
        if self._allocations >= self._most:
            raise OutOfMemory(
                f"Out of memory: {what} needs another allocation, and {self._device.capabilities.name} allows"
                f" {self._most} (maxMemoryAllocationCount). Close buffers that you no longer need.",
                "VK_ERROR_TOO_MANY_OBJECTS",
            )
        memory = vk.ffi.new("VkDeviceMemory *")
        if kind.addressable:
            flags = vk.VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
            extra = vk.new("VkMemoryAllocateFlagsInfo", pNext=extra, flags=flags)
        info = vk.new(
            "VkMemoryAllocateInfo", pNext=extra, allocationSize=size, memoryTypeIndex=kind.memory_type
        )
        code = self._functions.vkAllocateMemory(self._handle, info, vk.NULL, memory)
        self._device.check(code, f"allocating memory for {what}")
        mapped = 0
        if self._properties.memoryTypes[kind.memory_type].propertyFlags & _HOST_VISIBLE:
            address = vk.ffi.new("void **")
            code = self._functions.vkMapMemory(self._handle, memory[0], 0, vk.WHOLE_SIZE, 0, address)
            if code < 0:
                self._functions.vkFreeMemory(self._handle, memory[0], vk.NULL)
            self._device.check(code, f"mapping {what}")
            mapped = int(vk.ffi.cast("uintptr_t", address[0]))
        self._allocations += 1
        self._held += size
        return MemoryBlock(kind if reusable else None, memory[0], size, mapped)

    def _trim(self) -> int:
        unused, self._cached = self._cached, []
        for kind, blocks in self._shared.items():
            unused += [block for block in blocks if block.fit is not None and not block.fit.used]
            self._shared[kind] = [block for block in blocks if block.fit is not None and block.fit.used]
        for block in unused:
            self._release(block)
        return sum(block.size for block in unused)

    def _release(self, block: MemoryBlock) -> None:
        self._allocations -= 1
        self._held -= block.size
        self._functions.vkFreeMemory(self._handle, block.handle, vk.NULL)


def _power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least a number."""
    return 1 << (number - 1).bit_length()

"""Device memory: buffers and their pool, transfers."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from vkgroup.base.errors import DriverError, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.device import vk
from vkgroup.device.base import MemoryStatistics
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.host_threads import Bytes, host_copy
from vkgroup.device.instance import VulkanInstance
from vkgroup.device.kept_buffers import BufferOwner, KeptBuffers
from vkgroup.device.limits import require_buffer_size
from vkgroup.device.memory_types import allocate
from vkgroup.device.pool import Allocation, MemoryPool
from vkgroup.device.sharing import CudaSharing, SharedMemory, reference_lock, sharing_of, wait_for_cuda
from vkgroup.device.transfers import HostMemory, Transfers

#: Pooled buffers have sizes of powers of two: the smallest and largest size, and how many of each are kept.
_SMALLEST_POOLED, _LARGEST_POOLED, _MOST_IDLE = 1 << 12, 1 << 24, 8

_LARGEST_DIRECT = 512 << 10
"""Bytes of pinned memory that the host copies to the GPU faster than the GPU copies them itself."""

_DEVICE_LOCAL, _HOST_VISIBLE, _HOST_COHERENT, _HOST_CACHED = 1, 2, 4, 8


_serials = itertools.count(1)


class MemoryDevice(BufferOwner):
    """A device with its memory and buffers.

    `transfers`: the transfers to and from memory that is not mapped.
    """

    transfers: Transfers

    def __init__(
        self, instance: VulkanInstance, physical: Any, info: DeviceInfo, capabilities: Capabilities
    ) -> None:
        super().__init__(instance, physical, info, capabilities)
        self._idle_shared: dict[int, list[DeviceBuffer]] = {}
        # Closed buffers; their memory and the VkDevice live until the last reference is released.
        self.lent: set[DeviceBuffer] = set()
        self.closing = False
        self._leaving: Any = None
        self.kept: KeptBuffers[DeviceBuffer] = KeptBuffers(self)
        self.host_memory = HostMemory()

    @cached_property
    def window_type(self) -> int | None:
        """The memory type of the GPU's own memory that the host can write to; None without it.

        It must be in the GPU's largest heap (resizable BAR): older systems reach only a small part of it.
        """
        memory = self.memory_properties
        if self.capabilities.type != "discrete_gpu":
            return None
        own = [n for n in range(memory.memoryHeapCount) if memory.memoryHeaps[n].flags & _DEVICE_LOCAL]
        largest = max(own, key=lambda number: memory.memoryHeaps[number].size, default=None)
        wanted = _DEVICE_LOCAL | _HOST_VISIBLE | _HOST_COHERENT
        for number in range(memory.memoryTypeCount):
            kind = memory.memoryTypes[number]
            if kind.heapIndex == largest and kind.propertyFlags & wanted == wanted:
                return number
        return None

    def start_memory(self) -> None:
        """Read the memory types and create what allocates and transfers: the VkDevice has been created."""
        self.memory_properties = vk.ffi.new("VkPhysicalDeviceMemoryProperties *")
        self.instance.functions.vkGetPhysicalDeviceMemoryProperties(self.physical, self.memory_properties)
        self.pool = MemoryPool(self, self.memory_properties)
        self.transfers = Transfers(self, lambda nbytes: DeviceBuffer(self, nbytes, host=True))

    @property
    def sharing(self) -> CudaSharing | None:
        """The memory that the device shares with CUDA; None if it cannot share memory."""
        with self.lock:
            return self._sharing

    @cached_property
    def _sharing(self) -> CudaSharing | None:
        return sharing_of(self)

    def free_memory(self, buffer: DeviceBuffer, handle: Any, allocation: Allocation | None) -> None:
        """Destroy a buffer, and the device if it was closed and this is the last that it had lent."""
        self.free_buffer(handle, allocation)
        self.lent.discard(buffer)
        if self._leaving is not None and not self.lent:
            self._destroy()

    def free_buffer(self, handle: Any, allocation: Allocation | None) -> None:
        """Destroy a VkBuffer and free its memory, once no submitted work can use it."""
        device = self._leaving or self.handle
        if device is None or self._stuck:
            return

        def free() -> None:
            self.functions.vkDestroyBuffer(device, handle, vk.NULL)
            if allocation is not None:
                self.pool.free(allocation)

        self.timeline.after(free)

    def memory_statistics(self) -> MemoryStatistics:
        """Return the numbers of bytes that are in use and cached."""
        with suppress(DriverError):  # the device is lost: `close` frees what it can
            self.finished(self.timeline.submitted)
        plans = list(self.trimmable)
        recordings = sum(plan.recordings for plan in plans)
        pool, kept = self.pool.statistics(), self.kept.nbytes
        return replace(
            pool,
            in_use=pool.in_use - kept,
            cached=pool.cached + kept,
            plans=len(plans),
            recordings=recordings,
        )

    def trim(self) -> int:
        """Close the idle buffers and free all memory that nothing uses; returns the number of its bytes.

        If work in flight uses objects that were closed, this waits for it.
        """
        if self.timeline.has_deferred:
            with suppress(DriverError):
                self.synchronize(None)
        for plan in list(self.trimmable):
            plan.trim()
        self.transfers.trim()
        for idle in self._idle_shared.values():
            while idle:
                idle.pop().close()
        self.kept.clear()
        return self.pool.trim()

    @abstractmethod
    def _destroy(self) -> None:
        """Destroy the VkDevice."""

    def take_buffer(self, nbytes: int, *, shared: bool = False) -> DeviceBuffer:
        """Return a buffer of at least `nbytes` for a short time; `give_buffer` takes it back.

        Sizes are rounded up to powers of two, so that few sizes serve arrays of many.
        """
        size = max(_SMALLEST_POOLED, 1 << (nbytes - 1).bit_length())
        if size > _LARGEST_POOLED:
            return DeviceBuffer(self, nbytes, shared=shared)
        if shared:
            with suppress(KeyError, IndexError):  # none, or another thread was faster
                return self._idle_shared[size].pop()
        return DeviceBuffer(self, size, shared=shared)

    def give_buffer(self, buffer: DeviceBuffer) -> None:
        """Take a buffer back. Those that CUDA shares are costly to make, so some are stored here."""
        idle = self._idle_shared.setdefault(buffer.nbytes, [])
        storable = buffer.shared is not None and buffer.handle is not None and self.usable
        if storable and buffer.nbytes <= _LARGEST_POOLED and len(idle) < _MOST_IDLE:
            idle.append(buffer)
        else:
            buffer.close()


class DeviceBuffer(Closeable):
    """A VkBuffer with memory of the device's pool; memory that CUDA shares is of its own.

    On a discrete GPU it lies in the GPU's memory, and bytes come and go through a staging buffer; on
    integrated GPUs, on software drivers and with `host` it is mapped. Shaders may reach an `addressable` one
    by its address (bufferDeviceAddress). `usage` has VkBufferUsageFlags beside those that every buffer has.
    The host writes to a `written` one at once. With `window` it does so directly, if the device allows it.

    `handle`, `allocation`: the VkBuffer and its memory; None when closed.
    `mapped`: the bytes, if the host can access them.
    `window`: the bytes, if the host can write to them, but reads them slowly.
    `shared`: the memory in CUDA; None if CUDA cannot access it.
    `serial`: a number that no other buffer of the process has.
    `used`: the number of the last submission that uses it.
    `references`: how many arrays of other libraries view the memory; it is freed after the last of them.
    """

    handle: Any = None
    allocation: Allocation | None = None
    mapped: Bytes | None = None
    window: Bytes | None = None
    shared: SharedMemory | None = None
    references = 0
    used = 0
    _start = 0
    _kind: tuple[Any, ...] | None = None  # for `KeptBuffers`, once it is complete
    _lent: tuple[Any, Allocation | None] | None = None

    def __init__(
        self,
        device: MemoryDevice,
        nbytes: int,
        *,
        host: bool = False,
        addressable: bool = False,
        shared: bool = False,
        usage: int = 0,
        written: bool = True,
        window: bool = False,
    ) -> None:
        self.device = device
        self.nbytes = nbytes
        window = window and device.window_type is not None
        kind = (nbytes, host, addressable, usage, window)
        if device.lost or device.handle is None:
            device.require_open()
        kept = None if shared else device.kept.take(kind, written)
        if kept is not None:
            self.handle, self.allocation, self.mapped, self.window, self.serial, self.used = kept
            self._kind = kind
            device.register(self)
            self._holding = True
            return
        require_buffer_size(nbytes, device.capabilities)
        device.register(self)
        self._holding = True
        self.serial = next(_serials)
        if shared:
            assert device.sharing is not None
            self.shared = SharedMemory(self, device.sharing)
        try:
            self._create(host, addressable, usage, window)
        except (DriverError, Unsupported):
            self.close()
            raise
        self._kind = kind

    def _create(self, host: bool, addressable: bool, usage: int, window: bool) -> None:
        device, functions, shared = self.device, self.device.functions, self.shared
        if addressable:
            usage |= vk.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
        if "conditionalRendering" in device.enabled_features:
            usage |= vk.VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT
        # Ownership of what CUDA shares is transferred between families, so it belongs to one at a time.
        families = device.families if shared is None else []
        concurrent = len(families) > 1
        info = vk.new(
            "VkBufferCreateInfo",
            pNext=vk.NULL if shared is None else shared.external,
            sharingMode=vk.VK_SHARING_MODE_CONCURRENT if concurrent else vk.VK_SHARING_MODE_EXCLUSIVE,
            queueFamilyIndexCount=len(families) if concurrent else 0,
            pQueueFamilyIndices=families if concurrent else vk.NULL,
            size=self.nbytes,
            usage=usage
            | vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_VERTEX_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_INDEX_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        )
        what = f"a buffer of {self.nbytes} bytes"
        self.handle = device.create("Buffer", info, what)
        requirements = vk.ffi.new("VkMemoryRequirements *")
        functions.vkGetBufferMemoryRequirements(device.handle, self.handle, requirements)
        mapped = host or device.capabilities.type != "discrete_gpu"
        required = _HOST_VISIBLE | _HOST_COHERENT if mapped else _DEVICE_LOCAL
        preferred = (_HOST_CACHED | (0 if host else _DEVICE_LOCAL)) if mapped else 0
        if window and not mapped:
            required |= _HOST_VISIBLE | _HOST_COHERENT
        extra = vk.NULL
        if shared is not None:
            extra = shared.allocation(self.handle, info.usage, requirements.size)
        allocation = self.allocation = allocate(
            device, requirements, required, preferred, what, addressable=addressable, extra=extra
        )
        code = functions.vkBindBufferMemory(device.handle, self.handle, allocation.memory, allocation.offset)
        device.check(code, f"binding memory to {what}")
        if shared is not None:
            shared.begin(self.handle, allocation.memory)
        if mapped or window:
            address = vk.ffi.cast("void *", allocation.mapped)
            memory = np.frombuffer(vk.ffi.buffer(address, self.nbytes), np.uint8)
            self.mapped, self.window = (memory, None) if mapped else (None, memory)

    @property
    def address(self) -> int:
        """Its address on the device; it must be addressable."""
        core = self.device.capabilities.api_version[:2] >= (1, 2)
        name = "vkGetBufferDeviceAddress" if core else "vkGetBufferDeviceAddressKHR"
        info = vk.new("VkBufferDeviceAddressInfo", buffer=self.handle)
        return int(getattr(self.device.functions, name)(self.device.handle, info))

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes into the buffer; the caller has checked the range."""
        self._require_open()
        if self.mapped is not None:
            self.wait()
            self.mapped[offset : offset + data.size] = data
            return
        host = self.device.host_memory.find(data)
        window = self.window if host is None or data.size <= _LARGEST_DIRECT else None
        if window is not None and self.device.finished(self.used):
            host_copy(window[offset : offset + data.size], data)
            return
        transfers = self.device.transfers
        if host is not None:
            # The caller may change its array afterwards, so this waits.
            transfers.copy_alone(host, (self, offset), data.size)
        else:
            transfers.upload(data, self, offset)

    def read(self, out: Bytes, offset: int = 0) -> None:
        """Copy bytes out of the buffer; the caller has checked the range."""
        self._require_open()
        if self.mapped is not None:
            self.wait()
            out[:] = self.mapped[offset : offset + out.size]
            return
        transfers = self.device.transfers
        if (host := self.device.host_memory.find(out)) is not None:
            transfers.copy_alone((self, offset), host, out.size)
        else:
            transfers.download(self, offset, out)

    def serve_arrays(self) -> int:
        """Let transfers use the mapped memory directly if an array lies in it; returns its address."""
        assert self.allocation is not None
        self._start = self.allocation.mapped
        self.device.host_memory.add(self._start, self)
        return self._start

    def _require_open(self) -> None:
        self.device.require_open()
        if self.handle is None:
            raise DriverError("The buffer is closed; make a new one.")

    def wait(self) -> None:
        """Wait for the work that uses the buffer, and for work of CUDA if it is shared."""
        if self.used > self.device.timeline.completed:
            self.device.wait(self.used, None)
        if self.shared is not None:
            wait_for_cuda((self.shared,))

    def free(self) -> None:
        """Free the buffer and its memory, which are not kept for others."""
        handle, allocation = self.handle, self.allocation
        self.handle = self.allocation = self.mapped = self.window = None
        self.device.forget(self)
        self.device.free_buffer(handle, allocation)

    def close(self) -> None:
        """Free the buffer and its memory; referenced memory is freed with its last reference."""
        if self.handle is None:
            return
        self.device.forget(self)
        if self.shared is not None:
            self.shared.free_commands()
        if self._start:
            self.device.host_memory.remove(self._start)
        kept = self.handle, self.allocation, self.mapped, self.window, self.serial, self.used
        # First, since Ctrl-C may arrive at any call: memory may be lost to the pool, but must not have two
        # owners.
        self.handle = self.allocation = self.mapped = self.window = None
        keepable = self._kind is not None and self.shared is None and self.references == 0
        if keepable and self.device.kept.keep(self._kind, kept):
            return
        with reference_lock:
            self._lent = kept[0], kept[1]
            lent = self.references > 0
            if lent:
                self.device.lent.add(self)
        if not lent:
            self.free_unreferenced()

    def free_unreferenced(self) -> None:
        """Free the memory, if the buffer was closed."""
        with reference_lock:
            lent, self._lent = self._lent, None
        if lent is None:
            return
        if self.shared is not None:
            self.shared.unmap()
        self.device.free_memory(self, *lent)

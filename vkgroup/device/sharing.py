"""Memory shared with CUDA: export, ownership transfers, lookup by address, references."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections.abc import Iterable
from typing import Any, Protocol
from weakref import ref

from vkgroup.base.errors import Unsupported
from vkgroup.device import cuda, vk
from vkgroup.device.core import DeviceCore
from vkgroup.device.cuda import CudaDevice

EXTENSION = "VK_KHR_external_memory_fd"
_OPAQUE_FD = vk.ffi.integer_const("VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT")
_QUEUE_FAMILY_EXTERNAL = 0xFFFFFFFE  # VK_QUEUE_FAMILY_EXTERNAL

_process_ends = False

#: Guards the counts of references, and the decision to free memory.
reference_lock = threading.RLock()


class Shareable(Protocol):
    """A buffer of `nbytes` with memory `shared` with CUDA; None if CUDA cannot access it."""

    nbytes: int
    shared: SharedMemory | None


class CudaSharing:
    """The memory that an open device shares with `cuda`, the same GPU as CUDA sees it."""

    def __init__(self, device: DeviceCore, gpu: CudaDevice) -> None:
        self.device, self.cuda = device, gpu
        self._starts: list[int] = []
        self._mapped: dict[int, ref[Shareable]] = {}

    def add(self, address: int, buffer: Shareable) -> None:
        """Store CUDA's address of a buffer's memory."""
        insort(self._starts, address)
        self._mapped[address] = ref(buffer)

    def remove(self, address: int) -> None:
        """Forget it: the memory is being unmapped."""
        self._starts.remove(address)
        del self._mapped[address]

    def find(self, address: int, nbytes: int) -> tuple[Shareable, int] | None:
        """Return the buffer that contains a range of CUDA's addresses, and the offset of the range."""
        number = bisect_right(self._starts, address) - 1
        if number < 0:
            return None
        start = self._starts[number]
        buffer = self._mapped[start]()
        if buffer is None or address + nbytes > start + buffer.nbytes:
            return None
        return buffer, address - start


def sharing_of(device: DeviceCore) -> CudaSharing | None:
    """Return a device's memory sharing with CUDA; None if CUDA lacks the device or it exports no memory."""
    if EXTENSION not in device.enabled_extensions:
        return None
    gpu = cuda.find_device(device.capabilities.uuid)
    return None if gpu is None else CudaSharing(device, gpu)


def why_unshared(device: DeviceCore) -> str:
    """Return why a device does not share memory with CUDA."""
    if EXTENSION not in device.enabled_extensions:
        return f"it has no {EXTENSION}"
    return cuda.why_none()


class SharedMemory:
    """The memory of one buffer, for CUDA; `external` goes into the buffer's create info.

    Vulkan has every queue outside of it in the family VK_QUEUE_FAMILY_EXTERNAL, and a buffer of exclusive
    sharing mode belongs to one family at a time (Vulkan 1.4 §7.7.4, "Queue Family Ownership Transfer"): work
    that uses the buffer is submitted between the command buffers `acquire` and `release`, so that it belongs
    to CUDA at all other times.
    """

    def __init__(self, buffer: Shareable, sharing: CudaSharing) -> None:
        self._buffer, self._sharing = ref(buffer), sharing
        self._size = 0
        self._dedicated = False
        self._mapped: tuple[Any, int] | None = None
        self._memory: Any = None
        self._handles: Any = None
        self.external = vk.new("VkExternalMemoryBufferCreateInfo", handleTypes=_OPAQUE_FD)

    def allocation(self, handle: Any, usage: int, size: int) -> Any:
        """Return the `pNext` chain for allocating exportable memory of `size` bytes for a VkBuffer."""
        device = self._sharing.device
        info = vk.new("VkPhysicalDeviceExternalBufferInfo", usage=usage, handleType=_OPAQUE_FD)
        properties = vk.new("VkExternalBufferProperties")
        device.instance.functions.vkGetPhysicalDeviceExternalBufferProperties(
            device.physical, info, properties
        )
        features = properties.externalMemoryProperties.externalMemoryFeatures
        if not features & vk.VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT:
            raise Unsupported(
                f"{device.capabilities.name} does not export the memory of buffers.",
                ["VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT"],
            )
        self._size = size
        self._dedicated = bool(features & vk.VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)
        extra: Any = vk.NULL
        if self._dedicated:
            extra = vk.new("VkMemoryDedicatedAllocateInfo", buffer=handle)
        return vk.new("VkExportMemoryAllocateInfo", pNext=extra, handleTypes=_OPAQUE_FD)

    def begin(self, handle: Any, memory: Any) -> None:
        """Take a buffer that is made and bound, and record its transfers of ownership."""
        self._memory = memory
        device, functions = self._sharing.device, self._sharing.device.functions
        self._handles = vk.ffi.new("VkCommandBuffer[2]")
        info = vk.new("VkCommandBufferAllocateInfo", commandPool=device.command_pool, commandBufferCount=2)
        code = functions.vkAllocateCommandBuffers(device.handle, info, self._handles)
        device.check(code, "allocating command buffers")
        self.acquire, self.release = self._handles
        everything = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        access = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT
        for commands, families, accesses in (
            (self.acquire, (_QUEUE_FAMILY_EXTERNAL, device.family), (0, access)),
            (self.release, (device.family, _QUEUE_FAMILY_EXTERNAL), (access, 0)),
        ):
            transfer = vk.new(
                "VkBufferMemoryBarrier",
                srcAccessMask=accesses[0],
                dstAccessMask=accesses[1],
                srcQueueFamilyIndex=families[0],
                dstQueueFamilyIndex=families[1],
                buffer=handle,
                size=vk.WHOLE_SIZE,
            )
            begin = vk.new("VkCommandBufferBeginInfo")
            device.check(functions.vkBeginCommandBuffer(commands, begin), "recording commands")
            functions.vkCmdPipelineBarrier(
                commands, everything, everything, 0, 0, vk.NULL, 1, transfer, 0, vk.NULL
            )
            device.check(functions.vkEndCommandBuffer(commands), "recording commands")

    @property
    def cuda(self) -> CudaDevice:
        """The GPU for CUDA."""
        return self._sharing.cuda

    @property
    def address(self) -> int:
        """CUDA's address of the first byte; mapped on first use."""
        if self._mapped is None:
            device = self._sharing.device
            info = vk.new("VkMemoryGetFdInfoKHR", memory=self._memory, handleType=_OPAQUE_FD)
            fd = vk.ffi.new("int *")
            code = device.functions.vkGetMemoryFdKHR(device.handle, info, fd)
            device.check(code, "exporting memory")
            self._mapped = self._sharing.cuda.map(fd[0], self._size, dedicated=self._dedicated)
            buffer = self._buffer()
            assert buffer is not None
            self._sharing.add(self._mapped[1], buffer)
        return self._mapped[1]

    @property
    def mapped(self) -> bool:
        """Whether CUDA has an address of it."""
        return self._mapped is not None

    def free_commands(self) -> None:
        """Free the transfers of ownership: the buffer is closed to Vulkan."""
        device = self._sharing.device
        if self._handles is not None and device.usable:
            device.functions.vkFreeCommandBuffers(device.handle, device.command_pool, 2, self._handles)
        self._handles = None

    def unmap(self) -> None:
        """Unmap the memory from CUDA after CUDA's work has finished."""
        mapped, self._mapped = self._mapped, None
        if mapped is not None:
            self._sharing.remove(mapped[1])
            self.cuda.unmap(*mapped)


def wait_for_cuda(memories: Iterable[SharedMemory]) -> None:
    """Wait until CUDA has finished everything that could use memories of one device.

    The user of an array may have work in any streams, which vkgroup does not know; so it waits for
    the whole context.
    """
    for memory in memories:
        if memory.mapped:
            memory.cuda.synchronize()
            return


def keep_until_exit() -> None:
    """Stop freeing referenced memory, because the process is ending and frees everything."""
    global _process_ends
    _process_ends = True


class Referenced(Protocol):
    """Memory that counts the references to it."""

    references: int

    def free_unreferenced(self) -> None:
        """Free the memory, if its buffer was closed while it was referenced."""


class MemoryReference:
    """Keeps memory alive until it is released or the reference is garbage-collected.

    Each array of another library has one for the memory that it views, and may release it in any thread.
    """

    def __init__(self, memory: Referenced) -> None:
        self._memory: Referenced | None = memory
        with reference_lock:
            memory.references += 1

    def release(self) -> None:
        """Release the memory; doing so again is allowed."""
        with reference_lock:
            memory, self._memory = self._memory, None
            if memory is None:
                return
            memory.references -= 1
            last = memory.references == 0
        if last and not _process_ends:
            memory.free_unreferenced()

    def __del__(self) -> None:
        self.release()

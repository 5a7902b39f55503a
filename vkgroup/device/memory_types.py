"""Memory types: the choice for a buffer or image, and the allocation of its memory."""

from __future__ import annotations

from typing import Any

from vkgroup.base.errors import OutOfMemory
from vkgroup.device import vk
from vkgroup.device.kept_buffers import BufferOwner
from vkgroup.device.pool import Allocation, RequestKind


def memory_type(device: BufferOwner, allowed: int, required: int, preferred: int) -> int:
    """Return the memory type with all `required` and the most `preferred` flags, else `OutOfMemory`."""
    memory = device.memory_properties
    best, best_score = -1, -1
    for index in range(memory.memoryTypeCount):
        flags = int(memory.memoryTypes[index].propertyFlags)
        score = (flags & preferred).bit_count()
        if allowed >> index & 1 and flags & required == required and score > best_score:
            best, best_score = index, score
    if best < 0:
        raise OutOfMemory(
            f"{device.capabilities.name} has no memory type with flags {required:#x} for this object.",
            "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        )
    return best


def allocate(
    device: BufferOwner,
    requirements: Any,
    required: int,
    preferred: int,
    what: str,
    *,
    addressable: bool = False,
    image: bool = False,
    extra: Any = vk.NULL,
) -> Allocation:
    """Allocate memory for VkMemoryRequirements; `required` and `preferred` are VkMemoryPropertyFlags.

    With `extra`, a chain of structs for VkMemoryAllocateInfo, the object has a VkDeviceMemory of its own.
    """
    number = memory_type(device, requirements.memoryTypeBits, required, preferred)
    heap = device.memory_properties.memoryHeaps[device.memory_properties.memoryTypes[number].heapIndex].size
    if requirements.size > heap:
        raise OutOfMemory(
            f"{what} needs {requirements.size} bytes; the memory of {device.capabilities.name} for it has"
            f" {heap}. Work in parts.",
            "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        )
    kind, size, alignment = RequestKind(number, addressable, image), requirements.size, requirements.alignment
    try:
        return device.pool.allocate(kind, size, alignment, what, extra=extra)
    except OutOfMemory:
        device.synchronize(None)
        device.trim()
        return device.pool.allocate(kind, size, alignment, what, extra=extra)

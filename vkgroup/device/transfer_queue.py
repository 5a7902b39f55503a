"""A queue for copies that run beside the work of the device's main queue.

The main queue executes in order, so a copy in it begins after all work that was submitted before. A copy
here waits for one submission of the main queue, such as the last one that uses its buffers. All later work
of the main queue waits for the copy, so a single number still tells when a buffer was used last.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

from vkgroup.device import vk
from vkgroup.device.commands import Used
from vkgroup.device.core import DeviceCore

_FOR_THE_HOST = vk.new(
    "VkMemoryBarrier",
    srcAccessMask=vk.ffi.integer_const("VK_ACCESS_TRANSFER_WRITE_BIT"),
    dstAccessMask=vk.ffi.integer_const("VK_ACCESS_HOST_READ_BIT"),
)
_TRANSFER = vk.ffi.integer_const("VK_PIPELINE_STAGE_TRANSFER_BIT")
_HOST = vk.ffi.integer_const("VK_PIPELINE_STAGE_HOST_BIT")


class CopiedBuffer(Used, Protocol):
    """A VkBuffer that is copied."""

    handle: Any


class TransferQueue:
    """The first queue of a family that can only copy (Vulkan 1.4, 5.3.1 "Queue Family Properties").

    `timeline` counts the copies.
    """

    def __init__(self, device: DeviceCore) -> None:
        self._device, family = device, device.transfer_family
        functions = device.functions
        queue = vk.ffi.new("VkQueue *")
        functions.vkGetDeviceQueue(device.handle, family, 0, queue)
        self.timeline = device.timeline.beside(queue[0])
        info = vk.new(
            "VkCommandPoolCreateInfo",
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=family,
        )
        self._pool = device.create("CommandPool", info, "a command pool")
        self._recorded: deque[tuple[int, Any]] = deque()  # numbers and arrays of one VkCommandBuffer
        self._joined = 0

    def copy(
        self, source: tuple[CopiedBuffer, int], target: tuple[CopiedBuffer, int], nbytes: int, after: int
    ) -> int:
        """Submit a copy between two buffers, each with an offset; returns its number in `timeline`.

        It begins when submission `after` of the main queue has finished.
        """
        device = self._device
        if device.lost:
            device.raise_lost()
        with device.lock:
            commands = self._record(source, target, nbytes)
            try:
                return self.timeline.submit_after(commands, 1, "a transfer", device.timeline, after)
            finally:  # Ctrl-C may arrive after the submission
                if self.timeline.submitted > self._joined:
                    self._join(source[0], target[0])

    def _join(self, *buffers: Used) -> None:
        """Let all later work of the main queue wait for the copies that were submitted."""
        main, number = self._device.timeline, self.timeline.submitted
        used = main.submit_after(vk.NULL, 0, "a wait for transfers", self.timeline, number)
        for buffer in buffers:
            buffer.used = used
        self._joined = number

    def _record(self, source: tuple[CopiedBuffer, int], target: tuple[CopiedBuffer, int], nbytes: int) -> Any:
        """Record a copy into a command buffer that is not in flight; returns its array."""
        device, functions, recorded = self._device, self._device.functions, self._recorded
        finished = self.timeline.poll()
        if recorded and recorded[0][0] <= finished:
            commands = recorded.popleft()[1]
        else:
            commands = vk.ffi.new("VkCommandBuffer[1]")
            info = vk.new("VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1)
            code = functions.vkAllocateCommandBuffers(device.handle, info, commands)
            device.check(code, "allocating a command buffer")
        recorded.append((self.timeline.submitted + 1, commands))
        begin = vk.new("VkCommandBufferBeginInfo", flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        device.check(functions.vkBeginCommandBuffer(commands[0], begin), "recording a transfer")
        region = vk.new("VkBufferCopy", srcOffset=source[1], dstOffset=target[1], size=nbytes)
        functions.vkCmdCopyBuffer(commands[0], source[0].handle, target[0].handle, 1, region)
        functions.vkCmdPipelineBarrier(
            commands[0], _TRANSFER, _HOST, 0, 1, _FOR_THE_HOST, 0, vk.NULL, 0, vk.NULL
        )
        device.check(functions.vkEndCommandBuffer(commands[0]), "recording a transfer")
        return commands

    def destroy(self) -> None:
        """Destroy the semaphore and the command buffers; nothing is in flight."""
        device = self._device
        device.functions.vkDestroyCommandPool(device.handle, self._pool, vk.NULL)
        self.timeline.destroy()

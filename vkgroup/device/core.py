"""Core of an open Vulkan device: handles, functions, error checks, loss, and reusable command buffers."""

from __future__ import annotations

import threading
from typing import Any

from vkgroup.device import vk
from vkgroup.device.base import DeviceBase
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.instance import Instance
from vkgroup.errors import DeviceLost


class DeviceCore(DeviceBase):
    """A VkDevice and its queue, as command buffers and memory use them; closed while `handle` is None."""

    enabled_features: frozenset[str]
    enabled_extensions: list[str]
    functions: vk.Functions
    queue: Any
    family: int
    command_pool: Any

    def __init__(
        self, instance: Instance, physical: Any, info: DeviceInfo, capabilities: Capabilities
    ) -> None:
        super().__init__(info, capabilities)
        self.instance, self.physical = instance, physical
        self.handle: Any = None
        self.lock = threading.RLock()
        self.idle_commands: list[CommandParts] = []
        self._stuck = False

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self.handle is None

    @property
    def usable(self) -> bool:
        """Whether objects of the device may still be destroyed: it is open, and no work hangs in it."""
        return self.handle is not None and not self._stuck

    def raise_validation_errors(self) -> None:
        """Raise the validation layer's errors since the last call; does nothing without the layer."""
        self.instance.raise_validation_errors()

    def check(self, code: int, what: str) -> None:
        """Raise unless a call succeeded; remember when the device is lost."""
        if code < 0:
            error = vk.failure(code, what)
            if isinstance(error, DeviceLost):
                self.lost = f"{what} failed ({error.result})"
            self.instance.raise_validation_errors(error)
            raise error

    def create(self, kind: str, info: Any, what: str) -> Any:
        """Return a new object of a Vulkan type, such as ``"Sampler"``, from its create info."""
        handle = vk.ffi.new(f"Vk{kind} *")
        create = getattr(self.functions, f"vkCreate{kind}")
        self.check(create(self.handle, info, vk.NULL, handle), f"creating {what}")
        return handle[0]

    def destroy(self, kind: str, handle: Any) -> None:
        """Destroy an object of a Vulkan type; does nothing for None, or while work hangs in the device."""
        if handle is not None and self.usable:
            getattr(self.functions, f"vkDestroy{kind}")(self.handle, handle, vk.NULL)

    def abandon(self, why: str) -> None:
        """Give the device up with work in flight: none of its objects can be freed before that work ends."""
        self.lost = why
        self._stuck = True


class CommandParts:
    """Arrays of one VkCommandBuffer and one VkFence, which outlive the `Commands` that use them.

    If sixteen processes share a GPU, creating and freeing both takes milliseconds of the driver's lock.
    """

    def __init__(self, device: DeviceCore) -> None:
        functions = device.functions
        self.buffers = vk.ffi.new("VkCommandBuffer[1]")
        self.fences = vk.ffi.new("VkFence[1]")
        info = vk.new("VkCommandBufferAllocateInfo", commandPool=device.command_pool, commandBufferCount=1)
        code = functions.vkAllocateCommandBuffers(device.handle, info, self.buffers)
        device.check(code, "allocating a command buffer")
        code = functions.vkCreateFence(device.handle, vk.new("VkFenceCreateInfo"), vk.NULL, self.fences)
        device.check(code, "creating a fence")

    def destroy(self, device: DeviceCore) -> None:
        """Free both."""
        device.functions.vkDestroyFence(device.handle, self.fences[0], vk.NULL)
        device.functions.vkFreeCommandBuffers(device.handle, device.command_pool, 1, self.buffers)

"""Buffers of Vulkan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.buffer import Buffer
from vkgroup.errors import DriverError


class VulkanBuffer(Buffer):
    """A buffer in a device's memory.

    Attributes
    ----------
    memory : the VkBuffer and its memory.
    """

    device: LogicalDevice
    memory: DeviceBuffer

    def _create(self, host: bool) -> None:
        addressable = "bufferDeviceAddress" in self.device.enabled_features
        self.memory = DeviceBuffer(self.device, self.nbytes, host=host, addressable=addressable)

    def _write(self, data: npt.NDArray[np.uint8], offset: int) -> None:
        self._require_view()
        self.memory.write(data, self.offset + offset)

    def _read(self, nbytes: int, offset: int) -> npt.NDArray[np.uint8]:
        self._require_view()
        return self.memory.read(nbytes, self.offset + offset)

    def _require_view(self) -> None:
        if self._released:
            raise DriverError("The view is closed; make a new one.")

    def _address(self) -> int:
        device = self.device
        core = device.capabilities.api_version[:2] >= (1, 2)
        name = "vkGetBufferDeviceAddress" if core else "vkGetBufferDeviceAddressKHR"
        info = vk.new("VkBufferDeviceAddressInfo", buffer=self.memory.handle)
        return int(getattr(device.functions, name)(device.handle, info)) + self.offset

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self._released or self.memory.handle is None

    def close(self) -> None:
        """Free the memory; of a view, only the view."""
        if self._viewed is None:
            self.memory.close()
        else:
            self._released = True
            self.device.forget(self)

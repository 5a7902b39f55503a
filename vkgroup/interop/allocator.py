"""Allocation of Vulkan device memory by CUDA address."""

from __future__ import annotations

import importlib
from typing import Any

from vkgroup.device.references import Reference
from vkgroup.device.sharing import why_unshared
from vkgroup.dispatch import Device
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.device import VulkanDevice
from vkgroup.errors import DriverError, Unsupported


class SharedAllocator:
    """Gives memory of a device by its addresses in CUDA.

    Allocated memory outlives the device: only `free` frees it.

    Parameters
    ----------
    device : an open GPU that CUDA has too.

    Raises
    ------
    Unsupported
        The device shares no memory with CUDA.
    """

    def __init__(self, device: Device) -> None:
        if not isinstance(device, VulkanDevice):
            raise Unsupported(f"{device.name} shares no memory with CUDA.", ["VK_KHR_external_memory_fd"])
        if device.logical.sharing is None:
            raise Unsupported(
                f"{device.name} shares no memory with CUDA: {why_unshared(device.logical)}.",
                ["VK_KHR_external_memory_fd with a CUDA device of the same UUID"],
            )
        self._device, self._cuda = device, device.logical.sharing.cuda
        self._held: dict[int, tuple[VulkanBuffer, Reference]] = {}

    def allocate(self, nbytes: int, ordinal: int) -> int:
        """Return the address of new memory.

        Parameters
        ----------
        nbytes : how much; its contents are undefined.
        ordinal : the number of the GPU for CUDA.

        Raises
        ------
        DriverError
            It is to lie on another GPU, or the device is closed.
        OutOfMemory, Unsupported
            There is not as much; it is over the device's limit on buffers.
        """
        if ordinal != self._cuda.ordinal:
            raise DriverError(
                f"Memory is asked for on CUDA device {ordinal}; {self._device.name} is {self._cuda.ordinal}."
            )
        buffer = self._device.buffer(nbytes, shared=True)
        assert isinstance(buffer, VulkanBuffer)
        address = buffer.in_cuda.address
        self._held[address] = buffer, Reference(buffer.memory)
        return address

    def free(self, address: int, ordinal: int = 0) -> None:
        """Free what `allocate` gave, once CUDA has finished all work in flight.

        Parameters
        ----------
        ordinal : of the GPU; not looked at.
        """
        buffer, reference = self._held.pop(address)
        reference.release()
        buffer.close()


def library(name: str) -> Any:
    """Import a library that vkgroup does not depend on.

    Raises
    ------
    Unsupported
        It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Unsupported(f"The Python package {name} is not installed here.", [name]) from error

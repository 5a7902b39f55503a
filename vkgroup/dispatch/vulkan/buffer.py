"""Buffers of Vulkan."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.device.memory import DeviceBuffer, MemoryDevice
from vkgroup.device.references import Reference
from vkgroup.device.sharing import SharedMemory, wait_for_cuda, why_unshared
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.dlpack import CPU, CUDA, array_at
from vkgroup.errors import DriverError, InvalidDispatch, NotShareable, Unsupported


class VulkanBuffer(Buffer):
    """A buffer in a device's memory.

    Attributes
    ----------
    memory : the VkBuffer and its memory.
    """

    device: MemoryDevice
    memory: DeviceBuffer
    _keeper: object = None

    def _create(self, host: bool, shared: bool) -> None:
        addressable = "bufferDeviceAddress" in self.device.enabled_features
        exported = shared and _exports(self.device, host)
        self.memory = DeviceBuffer(
            self.device, self.nbytes, host=host, addressable=addressable, shared=exported
        )

    @classmethod
    def over(
        cls,
        memory: DeviceBuffer,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        offset: int,
        keeper: object = None,
    ) -> Self:
        """Make a view of memory that is there.

        Parameters
        ----------
        dtype, shape, offset : as for `view`.
        keeper : is held as long as the view is.
        """
        whole = cls.__new__(cls)
        whole.device, whole.memory, whole._keeper = memory.device, memory, keeper
        whole.nbytes, whole.dtype, whole.shape = memory.nbytes, np.dtype(np.uint8), (memory.nbytes,)
        view = whole.view(dtype, shape, offset)
        assert isinstance(view, cls)
        return view

    @property
    def shared(self) -> bool:
        """Whether CUDA sees the memory."""
        return self.memory.shared is not None

    @property
    def in_cuda(self) -> SharedMemory:
        """The memory as CUDA sees it; it is `shared`."""
        assert self.memory.shared is not None
        return self.memory.shared

    def _place(self) -> tuple[int, int]:
        self.device.require_open()
        if self.closed:
            raise DriverError("The buffer is closed; make a new one.")
        if self.shared:
            return CUDA, self.in_cuda.cuda.ordinal
        if self.memory.mapped is not None:
            return CPU, 0
        raise NotShareable(
            "The buffer lies on a GPU where no other library sees it; make it with shared=True, or read it."
        )

    def _lent(self) -> npt.NDArray[Any]:
        start, reference = self._start(), Reference(self.memory)
        return array_at(start + self.offset, self.dtype, self.shape, reference)

    def _start(self) -> int:
        """Return where the memory begins, for whom `_place` says."""
        if self.shared:
            return self.in_cuda.address
        assert self.memory.mapped is not None
        return int(self.memory.mapped.ctypes.data)

    def _settle(self) -> None:
        if self.shared:
            wait_for_cuda((self.in_cuda,))

    def _duplicate(self) -> VulkanBuffer:
        duplicate = VulkanBuffer(self.device, self.nbytes, shared=True)
        duplicate.dtype, duplicate.shape = self.dtype, self.shape
        source = self.in_cuda.address + self.offset
        self.in_cuda.cuda.copy(duplicate.in_cuda.address, source, self.nbytes)
        return duplicate

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
        return self.memory.address + self.offset

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


def _exports(device: MemoryDevice, host: bool) -> bool:
    """Whether a buffer that is to be shared is exported to CUDA; not where any buffer is the host's."""
    device.require_open()
    if device.sharing is not None:
        if host:
            raise InvalidDispatch("A buffer is shared with CUDA or kept in the host's memory, not both.")
        return True
    if not host and device.capabilities.type == "discrete_gpu":
        raise Unsupported(
            f"{device.capabilities.name} shares no memory with CUDA: {why_unshared(device)}.",
            ["VK_KHR_external_memory_fd with a CUDA device of the same UUID"],
        )
    return False

"""The reference device as its buffers, images and pipelines use it, and the addresses of its buffers."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from vkgroup.device.base import DeviceBase
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.reference.interpreter.operations.memory import Memory

_FIRST_ADDRESS, _GAP = 1 << 32, 1 << 12


class Addressable(Protocol):
    """A buffer that can be given an address."""

    nbytes: int
    memory: Memory | None


class Host(DeviceBase):
    """The reference device without its methods for users; its memory is Python's."""

    _closed = False

    def __init__(self, info: DeviceInfo, capabilities: Capabilities) -> None:
        super().__init__(info, capabilities)
        self._addressed: WeakSet[Addressable] = WeakSet()
        self._next_address = _FIRST_ADDRESS

    def assign_address(self, buffer: Addressable) -> int:
        """Return an address for a buffer, with a gap to the next so that overruns reach no other buffer."""
        self._addressed.add(buffer)
        address = self._next_address
        self._next_address += -(-(buffer.nbytes + _GAP) // _GAP) * _GAP
        return address

    def addressable(self) -> list[Memory]:
        """Return the memories that have an address."""
        return [buffer.memory for buffer in self._addressed if buffer.memory is not None]

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._closed

    def close(self) -> None:
        """Close everything made from the device."""
        self.close_children()
        self._closed = True

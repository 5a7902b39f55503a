"""Values that work reads from buffers: numbers of workgroups, and conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.errors import DriverError, InvalidDispatch

_COMMAND_BYTES = 12
"""Size of VkDispatchIndirectCommand."""


@dataclass(frozen=True)
class Indirect:
    """Numbers of workgroups in a buffer: three uint32, x, y and z (VkDispatchIndirectCommand).

    Attributes
    ----------
    buffer : holds them.
    offset : of the first byte, a multiple of 4.
    """

    buffer: Buffer
    offset: int = 0

    def check(self, device: DeviceBase) -> None:
        """Raise where Vulkan forbids it (Vulkan 1.4, vkCmdDispatchIndirect)."""
        _check(self.buffer, self.offset, _COMMAND_BYTES, device, "The numbers of workgroups")

    def counts(self) -> tuple[int, int, int]:
        """Read the numbers; the caller has checked the offset."""
        x, y, z = (int(count) for count in self.buffer.read(np.uint32, 3, self.offset))
        return x, y, z


@dataclass(frozen=True)
class Condition:
    """A uint32 in a buffer that decides whether work runs (VK_EXT_conditional_rendering).

    It is read when the work starts. A device with the extension reads it itself.

    Attributes
    ----------
    buffer : holds it.
    offset : of its first byte, a multiple of 4.
    inverted : whether work runs where it is zero; else where it is not.
    """

    buffer: Buffer
    offset: int = 0
    inverted: bool = False

    def check(self, device: DeviceBase) -> None:
        """Raise where Vulkan forbids it (Vulkan 1.4, VkConditionalRenderingBeginInfoEXT)."""
        _check(self.buffer, self.offset, 4, device, "The condition")

    def holds(self) -> bool:
        """Read whether work is to run; the caller has checked the offset."""
        return bool(self.buffer.read(np.uint32, 1, self.offset)[0]) != self.inverted


def _check(buffer: Buffer, offset: int, nbytes: int, device: DeviceBase, what: str) -> None:
    if not isinstance(buffer, Buffer):
        raise InvalidDispatch(f"{what} must lie in a Buffer, as Device.buffer makes; {buffer!r} was given.")
    if buffer.device is not device:
        raise InvalidDispatch(f"{what} must lie in a buffer of the same device.")
    if buffer.closed:
        raise DriverError("The buffer is closed; make a new one.")
    if not isinstance(offset, int | np.integer) or offset < 0 or offset % 4:
        raise InvalidDispatch(f"The offset is a multiple of 4, from 0 on; {offset!r} was given.")
    if offset + nbytes > buffer.nbytes:
        raise InvalidDispatch(
            f"{what}: {nbytes} bytes from byte {offset} on are read; the buffer has {buffer.nbytes}."
        )

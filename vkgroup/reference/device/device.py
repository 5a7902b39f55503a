"""The reference device, to be used as any other."""

from __future__ import annotations

from weakref import WeakSet

from vkgroup.device.capabilities import Capabilities
from vkgroup.device.info import DeviceInfo
from vkgroup.device.owner import Owner
from vkgroup.dispatch.device import Device
from vkgroup.reference.device.buffer import ReferenceBuffer
from vkgroup.reference.device.capabilities import DEFAULT_SIZE, capabilities_of, info_of
from vkgroup.reference.device.graphics import ReferenceGraphicsPipeline
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.device.pipeline import ReferencePipeline
from vkgroup.reference.device.sequence import ReferenceSequence
from vkgroup.reference.interpreter.operations.memory import Memory

_FIRST_ADDRESS, _GAP = 1 << 32, 1 << 12


class Host(Owner):
    """What the reference device's buffers, images and pipelines belong to; their memory is Python's."""

    _closed = False

    def __init__(self, info: DeviceInfo, capabilities: Capabilities) -> None:
        super().__init__(info, capabilities)
        self._addressed: WeakSet[ReferenceBuffer] = WeakSet()
        self._next_address = _FIRST_ADDRESS

    def place(self, buffer: ReferenceBuffer) -> int:
        """Give a buffer an address, with a gap to the next so that shaders cannot walk over."""
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


class ReferenceDevice(Device):
    """A device that executes SPIR-V in NumPy, lane by lane, as the specifications say.

    It needs no Vulkan. Accesses outside of a buffer read undefined values and write nothing; what the
    specifications leave undefined is known for each element (`RunResult.defined`), and what went wrong on
    the way is in `RunResult.events`.

    Parameters
    ----------
    subgroup_size : a power of two from 1 to 128.

    Raises
    ------
    Unsupported
        There is no such subgroup size.
    """

    _buffers, _images, _kind_of_pipelines = ReferenceBuffer, ReferenceImage, ReferencePipeline
    _kind_of_graphics_pipelines, _kind_of_sequences = ReferenceGraphicsPipeline, ReferenceSequence

    def __init__(self, subgroup_size: int = DEFAULT_SIZE) -> None:
        super().__init__(Host(info_of(subgroup_size), capabilities_of(subgroup_size)))

"""Reference device."""

from __future__ import annotations

from vkgroup.dispatch.device import Device
from vkgroup.reference.device.buffer import ReferenceBuffer
from vkgroup.reference.device.capabilities import DEFAULT_SIZE, capabilities_of, info_of
from vkgroup.reference.device.host import Host
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.device.pipeline import ReferencePipeline
from vkgroup.reference.device.sequence import ReferenceSequence


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
    _kind_of_sequences = ReferenceSequence

    def __init__(self, subgroup_size: int = DEFAULT_SIZE) -> None:
        super().__init__(Host(info_of(subgroup_size), capabilities_of(subgroup_size)))

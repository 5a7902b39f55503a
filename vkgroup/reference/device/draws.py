"""Draws of the reference device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.attachments import Attachment, trimmed
from vkgroup.dispatch.draws import Draws, key_of
from vkgroup.dispatch.events import Event
from vkgroup.dispatch.vertices import Vertices
from vkgroup.errors import OutOfMemory, Unsupported
from vkgroup.reference.device.bindings import ReferenceBindings, defined_texels
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.device.memory import write
from vkgroup.reference.drawing import ColorTarget, DepthTarget, Draw, VertexData, draw, resolved
from vkgroup.reference.interpreter.operations.images import ImageMemory

if TYPE_CHECKING:
    from vkgroup.reference.device.graphics import ReferenceGraphicsPipeline


class ReferenceDraws(ReferenceBindings, Draws):
    """Two modules with memories, vertices and attachments, ready to draw."""

    pipeline: ReferenceGraphicsPipeline

    def _create(self) -> None:
        limits, name = self.device.capabilities.limits, self.device.capabilities.name
        most = (limits["maxFramebufferWidth"], limits["maxFramebufferHeight"])
        if self.size[0] > most[0] or self.size[1] > most[1]:
            lacking = f"maxFramebufferWidth and maxFramebufferHeight of {self.size} (they are {most})"
            raise Unsupported(f"{name} lacks: {lacking}.", [lacking])
        super()._create()
        self._make_attachments()
        for attachment in self.attachments:
            # Events call it by the name that the shader has for it.
            _memory(self.images[attachment]).name = attachment.name or f"location {attachment.location}"

    def _draw(self, push: bytes, timeout: float | None) -> None:
        self._repeated(lambda left: self._run(push, left), timeout)

    def _timed(self, push: bytes, timeout: float | None, repeat: int) -> float | None:
        self._repeated(lambda left: self._run(push, left), timeout, repeat)
        return None

    def _run(self, push: bytes, timeout: float | None) -> tuple[Event, ...]:
        assert self.pipeline.programs is not None
        assert self._places is not None
        for attachment in self.attachments:
            self._clear(attachment)
        vertex, fragment = self.pipeline.programs
        try:
            outcome = draw(
                vertex,
                fragment,
                self._what(),
                self._places,
                push=push,
                subgroup_size=self.pipeline.size_of("fragment"),
                vertex_size=self.pipeline.size_of("vertex"),
                deadline=timeout,
                addressable=self.device.addressable(),
            )
        except MemoryError as error:
            raise OutOfMemory(f"The reference device has no memory for a draw that large: {error}.") from None
        for attachment, image in self.resolved.items():
            _resolve(_memory(self.images[attachment]), _memory(image), self.pipeline.state.samples)
        return outcome.events

    def _what(self) -> Draw:
        state, vertices = self.pipeline.state, self.vertices
        assert isinstance(vertices, Vertices), "the pipeline has refused mesh shaders"
        memories = {attachment: _memory(image) for attachment, image in self.images.items()}
        depths = [memory for attachment, memory in memories.items() if attachment.location is None]
        return Draw(
            self.size,
            VertexData(vertices.arrays, vertices.count, vertices.indices, vertices.instances),
            state.topology,
            [
                ColorTarget(attachment.location, memory)
                for attachment, memory in memories.items()
                if attachment.location is not None
            ],
            DepthTarget(depths[0], state.depth_compare, state.depth_write) if depths else None,
            state.samples,
            state.sample_shading,
            state.front_face,
        )

    def _clear(self, attachment: Attachment) -> None:
        """Clear an attachment that was given no contents: colors to zero, depths to the farthest."""
        image = self.images[attachment]
        given = attachment.image is not None or attachment.before is not None
        if given and (image is attachment.image or self.pipeline.state.samples == 1):
            return
        memory = _memory(image)
        texels = np.zeros(memory.data.size // image.dtype.itemsize, image.dtype)
        farther = self.pipeline.state.depth_compare in ("greater", "greater_or_equal")
        if attachment.location is None and not farther:
            texels[:] = 1 if image.dtype.kind == "f" else np.iinfo(image.dtype).max
        write(memory, texels.view(np.uint8))

    def defined(self, *, ordered: bool = False) -> dict[Any, Any]:
        """Tell which elements of the results the specifications define, attachments too."""
        found = super().defined(ordered=ordered)
        for attachment in self.attachments:
            if attachment.image is None:
                image = self.resolved.get(attachment) or self.images[attachment]
                flags = trimmed(defined_texels(image, ordered), attachment)
                first = self.resolve and attachment.location is None
                found[key_of(attachment)] = flags[:, :, 0] if first else flags
        return found


def _memory(image: Any) -> ImageMemory:
    assert isinstance(image, ReferenceImage)
    assert image.memory is not None
    return image.memory


def _resolve(source: ImageMemory, target: ImageMemory, samples: int) -> None:
    """Make one of several samples, with what is undefined about it."""
    elements, causes = resolved(source, samples)
    write(target, _bytes(elements))
    if causes is not None:
        size = elements.dtype.itemsize
        target.mark(np.arange(elements.size) * size, size, causes.reshape(-1))


def _bytes(elements: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(elements).reshape(-1).view(np.uint8)

"""Draws of the reference device: clearing, drawing, resolving samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.attachments import Attachment, DrawData, DrawImages
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.results import Event
from vkgroup.dispatch.vertices import Vertices
from vkgroup.errors import OutOfMemory
from vkgroup.reference.device.memory import write
from vkgroup.reference.device.resources import image_memory
from vkgroup.reference.drawing import ColorTarget, DepthTarget, Draw, VertexData, draw, resolved
from vkgroup.reference.interpreter import Program
from vkgroup.reference.interpreter.operations.images import ImageMemory


def run_draw(
    stages: GraphicsStages,
    programs: Sequence[Program],
    data: DrawData,
    drawn: DrawImages,
    memories: Any,
    **options: Any,
) -> tuple[Event, ...]:
    """Draw once; returns the events.

    Parameters
    ----------
    programs : the vertex and the fragment shader.
    memories : the memories of the bound resources, by (set, binding).
    **options : push constants, subgroup sizes, deadline and addressable memories, as for
        `vkgroup.reference.drawing.draw`.
    """
    for attachment in data.attachments:
        if drawn.clears(attachment):
            _clear(attachment, drawn.images[attachment], stages.state.farthest_depth)
    vertex, fragment = programs
    try:
        outcome = draw(vertex, fragment, _described(stages, data, drawn), memories, **options)
    except MemoryError as error:
        raise OutOfMemory(f"The reference device has no memory for a draw that large: {error}.") from None
    for attachment, image in drawn.resolved.items():
        source = image_memory(drawn.images[attachment])
        _resolve(source, image_memory(image), stages.state.samples)
    return outcome.events


def _described(stages: GraphicsStages, data: DrawData, drawn: DrawImages) -> Draw:
    """Return the draw as `vkgroup.reference.drawing` takes it."""
    state, vertices = stages.state, data.vertices
    assert isinstance(vertices, Vertices), "the pipeline has refused mesh shaders"
    memories = {attachment: image_memory(image) for attachment, image in drawn.images.items()}
    depths = [memory for attachment, memory in memories.items() if attachment.location is None]
    return Draw(
        data.size,
        VertexData(vertices.arrays, vertices.count, vertices.indices, vertices.instances),
        stages.topology,
        [
            ColorTarget(attachment.location, memory)
            for attachment, memory in memories.items()
            if attachment.location is not None
        ],
        DepthTarget(depths[0], state.depth_compare, state.depth_write) if depths else None,
        state.samples,
        state.sample_shading,
        stages.front_face,
    )


def _clear(attachment: Attachment, image: Image, farthest: float) -> None:
    """Clear an attachment: colors to zero, depths to the farthest."""
    memory = image_memory(image)
    texels = np.zeros(memory.data.size // image.dtype.itemsize, image.dtype)
    if attachment.location is None and farthest:
        texels[:] = 1 if image.dtype.kind == "f" else np.iinfo(image.dtype).max
    write(memory, texels.view(np.uint8))


def _resolve(source: ImageMemory, target: ImageMemory, samples: int) -> None:
    """Make one of several samples, with what is undefined about it."""
    elements, causes = resolved(source, samples)
    write(target, _bytes(elements))
    if causes is not None:
        size = elements.dtype.itemsize
        target.mark(np.arange(elements.size) * size, size, causes.reshape(-1))


def _bytes(elements: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(elements).reshape(-1).view(np.uint8)

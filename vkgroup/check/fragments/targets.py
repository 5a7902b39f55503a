"""Color attachments as outputs of a checked draw, and levels of sampled images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.inputs import GIVEN, Input, Inputs
from vkgroup.dispatch.attachments import ColorOutput, color_outputs
from vkgroup.formats import Format
from vkgroup.reference.drawing import ColorTarget
from vkgroup.reference.interpreter.operations.images import ImageMemory, image_of
from vkgroup.reference.interpreter.operations.images.memory import AXES
from vkgroup.spirv import Binding, EntryPoint, ImageType, ScalarType

ATTACHMENTS = -1
"""The set of color attachments in the inputs and outputs of a run; the binding is the location."""


def with_attachments(inputs: Inputs, entry: EntryPoint, size: tuple[int, int]) -> Inputs:
    """Return inputs with an entry for each color output of a fragment shader, cleared to zero.

    Raises Unsupported: no attachment can hold an output.
    """
    attachments = [_attachment(output, size) for output in color_outputs(entry)]
    return replace(inputs, bindings=(*inputs.bindings, *attachments))


def without_attachments(inputs: Inputs) -> Inputs:
    """Return inputs without the entries of color attachments."""
    return replace(
        inputs, bindings=tuple(entry for entry in inputs.bindings if entry.place[0] != ATTACHMENTS)
    )


def _attachment(output: ColorOutput, size: tuple[int, int]) -> Input:
    """Return the input of a color attachment, with as many components as the shader writes."""
    format_ = _format_of(output)
    name = output.name or f"color {output.location}"
    kind = ImageType(ScalarType(output.kind, 32), "2D", False, False, False, True, format_.name)
    binding = Binding(
        ATTACHMENTS, output.location, name, "storage_image", kind, 1, False, True, False, True, id=-1
    )
    shape = (size[1], size[0], *([format_.components] if format_.components > 1 else []))
    return Input(binding, (np.zeros(shape, format_.dtype),), True, GIVEN, format_)


def _format_of(output: ColorOutput) -> Format:
    """Return the format of an attachment; three components have no format in Vulkan that can be drawn to."""
    format_ = output.format
    if output.components == format_.components:
        return format_
    return replace(format_, components=output.components)


def color_targets(resources: Mapping[tuple[int, int], Sequence[Any]]) -> list[ColorTarget]:
    """Return the color attachments among the resources of a run."""
    return [
        ColorTarget(place[1], resource[0]) for place, resource in resources.items() if place[0] == ATTACHMENTS
    ]


def leveled(
    inputs: Inputs, resources: Mapping[tuple[int, int], Sequence[Any]]
) -> dict[tuple[int, int], Sequence[Any]]:
    """Return resources in which sampled images have all levels.

    With one level, the level of detail has no effect, and no error in it would be visible.
    """
    result = dict(resources)
    for entry in inputs.bindings:
        if entry.binding.kind in ("combined_image_sampler", "sampled_image") and entry.format is not None:
            result[entry.place] = [_with_levels(entry.format, item) for item in resources[entry.place]]
    return result


def _with_levels(format_: Format, resource: Any) -> Any:
    """Return an image, or an image with its sampler, with all levels: every second texel each."""
    if isinstance(resource, tuple):
        return _with_levels(format_, resource[0]), resource[1]
    image: ImageMemory = resource
    if image.levels > 1 or image.dimension == "Buffer" or image.causes is not None:
        return image
    layered = image.arrayed or image.dimension == "Cube"
    axes = AXES[image.dimension]
    width, height, depth = (int(length) for length in image.extents[0])
    extent = (depth, height, width)[3 - axes :]
    texels = image.data.view(format_.dtype)
    whole = texels.reshape(*([image.layers] if layered else []), *extent, format_.components)
    levels = [
        whole[(slice(None),) * layered + _every(extent, level)] for level in range(max(extent).bit_length())
    ]
    return image_of(levels, image.name, format_, dimension=image.dimension, arrayed=image.arrayed)


def _every(extent: Sequence[int], level: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the index of the texels of level 0 that make up a level."""
    return np.ix_(*(np.arange(max(1, length >> level)) << level for length in extent))

"""Color attachments as outputs of a checked draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.base.formats import TexelFormat
from vkgroup.check.fields import interface_name
from vkgroup.check.inputs import GIVEN, DispatchInputs, Input
from vkgroup.dispatch.attachments import ColorOutput, color_outputs
from vkgroup.reference.drawing import ColorTarget
from vkgroup.spirv import Binding, EntryPoint, ImageType, ScalarType

ATTACHMENTS = -1
"""The set of color attachments in the inputs and outputs of a run; the binding is the location."""


def with_attachments(inputs: DispatchInputs, entry: EntryPoint, size: tuple[int, int]) -> DispatchInputs:
    """Return inputs with an entry for each color output of a fragment shader, cleared to zero.

    Raises Unsupported: no attachment can hold an output.
    """
    attachments = [_attachment(output, size) for output in color_outputs(entry)]
    return replace(inputs, bindings=(*inputs.bindings, *attachments))


def without_attachments(inputs: DispatchInputs) -> DispatchInputs:
    """Return inputs without the entries of color attachments."""
    return replace(
        inputs, bindings=tuple(entry for entry in inputs.bindings if entry.place[0] != ATTACHMENTS)
    )


def _attachment(output: ColorOutput, size: tuple[int, int]) -> Input:
    """Return the input of a color attachment, with as many components as the shader writes."""
    format_ = _format_of(output)
    name = interface_name(output.name) or f"color {output.location}"
    kind = ImageType(ScalarType(output.kind, 32), "2D", False, False, False, True, format_.name)
    binding = Binding(
        ATTACHMENTS, output.location, name, "storage_image", kind, 1, False, True, False, True, id=-1
    )
    shape = (size[1], size[0], *([format_.components] if format_.components > 1 else []))
    return Input(binding, (np.zeros(shape, format_.dtype),), True, GIVEN, format_)


def _format_of(output: ColorOutput) -> TexelFormat:
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

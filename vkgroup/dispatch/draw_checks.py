"""Checks that shaders, formats, vertices and attachments of a draw fit together; else drivers crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.attachments import Attachment, check_size
from vkgroup.dispatch.draw_images import DrawData
from vkgroup.dispatch.draw_state import DrawFormats, DrawState, size_of
from vkgroup.dispatch.vertices import MeshGroups, Vertices, check_interface
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import EntryPoint, Module

_PRIMITIVES = {
    "points": "InputPoints",
    "lines": "InputLines",
    "line_strip": "InputLines",
    "lines_adjacency": "InputLinesAdjacency",
    "line_strip_adjacency": "InputLinesAdjacency",
    "triangles": "Triangles",
    "triangle_strip": "Triangles",
    "triangle_fan": "Triangles",
    "triangles_adjacency": "InputTrianglesAdjacency",
    "triangle_strip_adjacency": "InputTrianglesAdjacency",
}
"""Input primitives of a geometry shader for each topology, by SPIR-V's execution modes."""


def check_made_of(modules: tuple[Any, ...], formats: Any, state: Any) -> None:
    """Refuse arguments of other types than a graphics pipeline is made of."""
    if not all(isinstance(module, Module) for module in modules):
        raise InvalidDispatch("A graphics pipeline is made of modules; Device.compile makes them.")
    if not isinstance(formats, DrawFormats):
        raise InvalidDispatch(f"A graphics pipeline needs DrawFormats; {formats!r} was given.")
    check_state(state)


def check_state(state: Any) -> None:
    """Refuse what is no `DrawState`."""
    if not isinstance(state, DrawState):
        raise InvalidDispatch(f"state is a DrawState; {state!r} was given.")


def check_stages(shaders: Sequence[EntryPoint], topology: str) -> None:
    """Check that the stages, in their order, fit each other and the topology.

    Raises
    ------
    InvalidDispatch
        Patches without tessellation or the other way round, or a geometry shader that takes other primitives.
    """
    by_name = {entry.stage: entry for entry in shaders}
    # The output of a task shader is its payload, which has no locations.
    for giver, taker in pairwise(entry for entry in shaders if entry.stage != "task"):
        check_interface(giver, taker)
    if "mesh" in by_name:
        return
    tessellates = "tessellation_control" in by_name
    if tessellates != (topology == "patches"):
        raise InvalidDispatch(
            "Tessellation takes patches, and nothing else does: topology='patches' belongs to both shaders of"
            f" tessellation; the topology is {topology!r}."
        )
    if (geometry := by_name.get("geometry")) is None:
        return
    taken = next((mode for mode in geometry.execution_modes if mode in _PRIMITIVES.values()), "")
    given = _tessellated(by_name) if tessellates else _PRIMITIVES[topology]
    if taken != given:
        raise InvalidDispatch(
            f"The geometry shader takes {_words(taken)}, and gets {_words(given)}: change its layout(…) in,"
            " or the topology."
        )


def _tessellated(by_name: Mapping[str, EntryPoint]) -> str:
    """Return what tessellation makes (Vulkan 1.4, 23.1), as a geometry shader has to take it."""
    modes = {mode for name in by_name for mode in by_name[name].execution_modes if "tessellation" in name}
    if "PointMode" in modes:
        return "InputPoints"
    return "InputLines" if "Isolines" in modes else "Triangles"


def draws_points(last: EntryPoint, topology: str) -> bool:
    """Whether the primitives that the last stage before the fragments gives are points."""
    if last.stage == "vertex":
        return topology == "points"
    return bool({"OutputPoints", "PointMode"} & last.execution_modes.keys())


def _words(mode: str) -> str:
    """Return an execution mode of primitives as GLSL writes it."""
    adjacency = "_adjacency" if mode.endswith("Adjacency") else ""
    return f"{mode.removeprefix('Input').removesuffix('Adjacency').lower()}{adjacency}"


def check_formats(vertex: EntryPoint, fragment: EntryPoint, formats: DrawFormats) -> None:
    """Check a pipeline's attributes and colors against the shaders.

    Raises
    ------
    InvalidDispatch
        A vertex input has no attribute, or an attribute or color is of another type than the shader's.
    """
    attributes = {item.location: item.kind for item in formats.attributes}
    for item in vertex.variables.inputs:
        for location in item.locations:
            kind = attributes.get(location)
            if kind is None or item.scalar is None or item.scalar.kind != kind:
                raise InvalidDispatch(
                    f"The vertex shader's input {item.name!r} has no attribute of its type at location"
                    f" {location}."
                )
    colors = dict(formats.colors)
    for item in fragment.variables.outputs:
        for location in item.locations:
            format_ = colors.get(location)
            if format_ is not None and item.scalar is not None and format_.kind != item.scalar.kind:
                raise InvalidDispatch(
                    f"The fragment shader's output {item.name!r} writes {item.scalar.kind}s; the format"
                    f" {format_.name} at location {location} does not hold them."
                )


def check_bound(
    formats: DrawFormats,
    size: object,
    vertices: Any,
    attachments: tuple[Attachment, ...],
    device: DeviceBase,
    workgroups_stage: str | None,
) -> DrawData:
    """Return the data that is bound to a graphics pipeline, checked against the pipeline's formats.

    Parameters
    ----------
    workgroups_stage : as of `GraphicsStages`.

    Raises
    ------
    InvalidDispatch
        Vertices or attachments have other formats than the pipeline was made for.
    """
    extent = size_of(size)
    if isinstance(vertices, MeshGroups):
        check_groups(vertices.counts, workgroups_stage, device)
    elif (
        workgroups_stage is not None
        or not isinstance(vertices, Vertices)
        or vertices.attributes != formats.attributes
    ):
        raise InvalidDispatch(
            f"The pipeline was made for vertices with the attributes {formats.attributes}; bind such"
            " Vertices."
        )
    else:
        _check_numbers(vertices)
    colors = tuple((item.location, item.format) for item in attachments if item.location is not None)
    depths = [item.format for item in attachments if item.location is None]
    if colors != formats.colors or depths != [formats.depth] * (formats.depth is not None):
        raise InvalidDispatch("The pipeline was made for other attachments; make both of the same formats.")
    for attachment in attachments:
        check_size(attachment, extent, device)
    return DrawData(extent, vertices, attachments)


def check_framebuffer(size: tuple[int, int], device: DeviceBase) -> None:
    """Raise `Unsupported` where a device cannot draw to images that large."""
    limits, name = device.capabilities.limits, device.capabilities.name
    most = (limits["maxFramebufferWidth"], limits["maxFramebufferHeight"])
    if size[0] > most[0] or size[1] > most[1]:
        lacking = f"maxFramebufferWidth and maxFramebufferHeight of {size} (they are {most})"
        raise Unsupported(f"{name} lacks: {lacking}.", [lacking])


def check_groups(counts: Any, stage: str | None, device: DeviceBase) -> None:
    """Check the numbers of workgroups that a draw with mesh shaders starts.

    Raises
    ------
    InvalidDispatch
        There are no three of them, or the pipeline has vertices.
    Unsupported
        The device starts no more at once.
    """
    whole = [isinstance(count, int | np.integer) and not isinstance(count, bool) for count in counts]
    if stage is None or whole != [True] * 3 or min(counts) < 0:
        raise InvalidDispatch(
            "Draws with mesh shaders take `groups`, three numbers of workgroups, and others take vertices;"
            f" {counts!r} was given."
        )
    limits, name = device.capabilities.limits, f"max{stage.title()}WorkGroup"
    lacking = [
        f"{name}Count of {tuple(counts)} (it is {limits[f'{name}Count']})"
        for count, most in zip(counts, limits[f"{name}Count"], strict=True)
        if count > most
    ][:1]
    if (total := int(np.prod([int(count) for count in counts], dtype=object))) > limits[f"{name}TotalCount"]:
        lacking.append(f"{name}TotalCount of {total} (it is {limits[f'{name}TotalCount']})")
    if lacking:
        raise Unsupported(f"{device.capabilities.name} lacks: {'; '.join(lacking)}.", lacking)


def _check_numbers(vertices: Vertices) -> None:
    """Refuse numbers of vertices that reach beyond their arrays."""
    most = 2**32 - 1
    for number in (vertices.count, vertices.instances):
        if not isinstance(number, int | np.integer) or not 0 <= number <= most:
            raise InvalidDispatch(f"Vertices are counted from 0 to {most}; {number!r} was given.")
    lengths = [len(array) for array in vertices.arrays.values()]
    if vertices.indices is not None:
        last = int(vertices.indices.max(initial=0))
        if vertices.count > len(vertices.indices) or vertices.indices.dtype != np.uint32:
            raise InvalidDispatch("There are as many uint32 indices as vertices are drawn.")
    else:
        last = vertices.count - 1
    if lengths and last >= min(lengths):
        raise InvalidDispatch(f"Vertex {last} is drawn; there are {min(lengths)}.")

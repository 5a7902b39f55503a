"""Graphics pipelines: shaders, checked against formats, vertices and attachments; else drivers crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch
from vkgroup.device.base import DeviceBase
from vkgroup.device.requirements import require
from vkgroup.dispatch.attachments import Attachment, DrawData, check_size
from vkgroup.dispatch.draw_state import FRONT_FACES, DrawFormats, DrawState, check_inputs, size_of
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.stages import PipelineOptions, Stages, check_subgroup_size, stage_shader
from vkgroup.dispatch.vertices import MeshGroups, Vertices, check_interface
from vkgroup.spirv import EntryPoint, Module, writes_built_in

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

_POINT_SIZE = "shaderTessellationAndGeometryPointSize"
"""The feature that makes tessellation and geometry shaders write point sizes; without it these are 1."""


def check_made_of(modules: tuple[Any, ...], formats: Any, state: Any) -> None:
    """Refuse arguments of other types than a graphics pipeline is made of."""
    if not all(isinstance(module, Module) for module in modules):
        raise InvalidDispatch("A graphics pipeline is made of modules; Device.compile makes them.")
    if not isinstance(formats, DrawFormats):
        raise InvalidDispatch(f"A graphics pipeline needs DrawFormats; {formats!r} was given.")
    check_state(state)


def check_state(state: Any) -> None:
    """Refuse values of other types than `DrawState`."""
    if not isinstance(state, DrawState):
        raise InvalidDispatch(f"state is a DrawState; {state!r} was given.")


def check_stages(shaders: Sequence[EntryPoint], topology: str) -> None:
    """Check that the stages, in their order, fit each other and the topology."""
    by_name = {entry.stage: entry for entry in shaders}
    # The output of a task shader is its payload, which has no locations.
    for giver, taker in pairwise(entry for entry in shaders if entry.stage != "task"):
        check_interface(giver, taker)
    if "mesh" in by_name:
        return
    tessellates = "tessellation_control" in by_name
    if tessellates != (topology == "patches"):
        raise InvalidDispatch(
            "Only tessellation takes patches: topology='patches' belongs to both shaders of"
            f" tessellation; the topology is {topology!r}."
        )
    if (geometry := by_name.get("geometry")) is None:
        return
    taken = next((mode for mode in geometry.execution_modes if mode in _PRIMITIVES.values()), "")
    given = _PRIMITIVES.get(topology, "")
    if tessellates:
        # Vulkan 1.4, 23.1.
        modes = {mode for name in by_name for mode in by_name[name].execution_modes if "tessellation" in name}
        given = "InputLines" if "Isolines" in modes else "Triangles"
        given = "InputPoints" if "PointMode" in modes else given
    if taken != given:
        raise InvalidDispatch(
            f"The geometry shader takes {_words(taken)}, and gets {_words(given)}: change its layout(…) in,"
            " or the topology."
        )


def _words(mode: str) -> str:
    """Return an execution mode of primitives as GLSL writes it."""
    adjacency = "_adjacency" if mode.endswith("Adjacency") else ""
    return f"{mode.removeprefix('Input').removesuffix('Adjacency').lower()}{adjacency}"


def check_formats(vertex: EntryPoint, fragment: EntryPoint, formats: DrawFormats) -> None:
    """Check that vertex inputs have attributes, and attributes and colors have the shaders' types."""
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
    """Return the data that is bound to a graphics pipeline, checked against the pipeline's formats."""
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
    limits = device.capabilities.limits
    most = (limits["maxFramebufferWidth"], limits["maxFramebufferHeight"])
    if size[0] > most[0] or size[1] > most[1]:
        lacking = f"maxFramebufferWidth and maxFramebufferHeight of {size} (they are {most})"
        require(device.capabilities, [lacking])


def check_groups(counts: Any, stage: str | None, device: DeviceBase) -> None:
    """Check the numbers of workgroups that a draw with mesh shaders starts in its first `stage`."""
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
    require(device.capabilities, lacking)


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


class GraphicsStages(Stages):
    """The shaders of a graphics pipeline, with the formats and the state that it is made for.

    `formats`: formats of vertices and attachments.
    `state`: the draw state, without None.
    `topology`, `front_face`: of the state, with the defaults in place.
    `workgroups_stage`: the stage whose workgroups a draw starts, ``"task"`` or ``"mesh"``; None of draws with
    vertices.
    """

    kind = "graphics"

    def __init__(
        self,
        device: DeviceBase,
        modules: Mapping[str, Module],
        formats: DrawFormats,
        state: DrawState,
        options: PipelineOptions,
    ) -> None:
        check_subgroup_size(options.subgroup_size)
        super().__init__(options)
        if options.full_subgroups and "mesh" not in modules:
            raise InvalidDispatch("Full subgroups are of task and mesh shaders, which have workgroups.")
        default = "patches" if "tessellation_control" in modules else "triangles"
        self.topology, self.front_face = state.topology or default, state.front_face or FRONT_FACES[0]
        self.formats = formats
        self.state = replace(state, topology=self.topology, front_face=self.front_face)
        self.shaders = tuple(
            stage_shader(module, stage, options.specialization) for stage, module in modules.items()
        )
        first, last = self.shaders[0], self.shaders[-2]
        first_stage = first.entry_point.stage
        self.workgroups_stage = first_stage if first_stage in ("task", "mesh") else None
        check_stages([shader.entry_point for shader in self.shaders], self.topology)
        check_formats(first.entry_point, self.shaders[-1].entry_point, formats)
        sized = last.entry_point.stage in ("vertex", "mesh") or _POINT_SIZE in device.capabilities.features
        points = bool({"OutputPoints", "PointMode"} & last.entry_point.execution_modes.keys())
        if last.entry_point.stage == "vertex":
            points = self.topology == "points"
        if sized and points and not writes_built_in(last.module, "PointSize"):
            stage = last.entry_point.stage.replace("_", " ")
            raise InvalidDispatch(
                f"Points need a size, and the {stage} shader writes none: gl_PointSize = 1.0;"
            )

    def slots(self) -> tuple[Slot, ...]:
        """Return the slots of all descriptors; `InvalidDispatch` where input attachments do not fit them."""
        slots = super().slots()
        check_inputs(slots, self.formats.inputs)
        return slots

    def lacking(self, device: DeviceBase) -> list[str]:
        """List what the shaders and the state need and the device does not have, by Vulkan's names."""
        capabilities, lacking = device.capabilities, super().lacking(device)
        patch, most = self.state.patch_vertices, capabilities.limits.get("maxTessellationPatchSize", 0)
        if self.topology == "patches" and patch > most:
            lacking.append(f"maxTessellationPatchSize of {patch} (it is {most})")
        if self.state.sample_shading and "sampleRateShading" not in capabilities.features:
            lacking.append("sampleRateShading")
        return lacking


def stages_of(
    vertex: Module | None,
    fragment: Module,
    tessellation: tuple[Module, Module] | None = None,
    geometry: Module | None = None,
    mesh: Module | None = None,
    task: Module | None = None,
) -> dict[str, Module]:
    """Return the modules by stage, in the order of the pipeline; refuses those that make no pipeline."""
    replaced = [module for module in (vertex, tessellation, geometry) if module is not None]
    if (mesh is not None and replaced) or (mesh is None and (vertex is None or task is not None)):
        raise InvalidDispatch(
            "A draw has a vertex shader, with tessellation and geometry if wanted, or a mesh shader, with a"
            " task shader if wanted."
        )
    control, evaluation = tessellation or (None, None)
    modules = {
        "vertex": vertex,
        "tessellation_control": control,
        "tessellation_evaluation": evaluation,
        "geometry": geometry,
        "task": task,
        "mesh": mesh,
        "fragment": fragment,
    }
    return {stage: module for stage, module in modules.items() if module is not None}

"""Graphics pipelines: the checks of shaders from the vertices or meshes to the fragments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vkgroup.device import limits
from vkgroup.device.base import DeviceBase
from vkgroup.device.capabilities import Capabilities
from vkgroup.dispatch.draw_checks import check_formats, check_stages, draws_points
from vkgroup.dispatch.draw_state import FRONT_FACES, DrawFormats, DrawState
from vkgroup.dispatch.input_attachments import check_inputs
from vkgroup.dispatch.shader import Shader
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.stages import Stages, check_subgroup_size, stage_shader
from vkgroup.errors import InvalidDispatch
from vkgroup.spirv import Module, writes_built_in

_POINT_SIZE = "shaderTessellationAndGeometryPointSize"
"""The feature that makes tessellation and geometry shaders write point sizes; without it these are 1."""


class GraphicsStages(Stages):
    """The shaders of a graphics pipeline, with the formats and the state that it is made for.

    Attributes
    ----------
    formats : formats of vertices and attachments.
    state : the draw state, without None.
    topology, front_face : of the state, with the defaults in place.
    workgroups_stage : the stage whose workgroups a draw starts, ``"task"`` or ``"mesh"``; None of draws with
        vertices.
    """

    kind = "graphics"

    def __init__(
        self,
        device: DeviceBase,
        modules: Mapping[str, Module],
        formats: DrawFormats,
        state: DrawState,
        *,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        check_subgroup_size(subgroup_size)
        super().__init__(subgroup_size, full_subgroups, varying_subgroup_size)
        if full_subgroups and "mesh" not in modules:
            raise InvalidDispatch("Full subgroups are of task and mesh shaders, which have workgroups.")
        default = "patches" if "tessellation_control" in modules else "triangles"
        self.topology, self.front_face = state.topology or default, state.front_face or FRONT_FACES[0]
        self.formats = formats
        self.state = replace(state, topology=self.topology, front_face=self.front_face)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in modules.items())
        first, last = self.shaders[0], self.shaders[-2]
        first_stage = first.entry_point.stage
        self.workgroups_stage = first_stage if first_stage in ("task", "mesh") else None
        check_stages([shader.entry_point for shader in self.shaders], self.topology)
        check_formats(first.entry_point, self.shaders[-1].entry_point, formats)
        sized = last.entry_point.stage in ("vertex", "mesh") or _POINT_SIZE in device.capabilities.features
        points = draws_points(last.entry_point, self.topology)
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
        capabilities = device.capabilities
        lacking: list[str] = []
        for shader in self.shaders:
            entry = shader.entry_point
            lacking += shader.missing(device, self.required_size(shader))
            lacking += limits.exceeded(shader.module.reflection, entry, shader.specialization, capabilities)
            lacking += limits.interface_exceeded(entry, capabilities)
            lacking += self._size_problems(shader, capabilities)
        patch, most = self.state.patch_vertices, capabilities.limits.get("maxTessellationPatchSize", 0)
        if self.topology == "patches" and patch > most:
            lacking.append(f"maxTessellationPatchSize of {patch} (it is {most})")
        if self.state.sample_shading and "sampleRateShading" not in capabilities.features:
            lacking.append("sampleRateShading")
        return list(dict.fromkeys(lacking))

    def _size_problems(self, shader: Shader, capabilities: Capabilities) -> list[str]:
        """List why a stage cannot have the required subgroup size, or full or varying subgroups."""
        entry = shader.entry_point
        varying = self.varying_subgroup_size and shader.uses_subgroups
        if entry.local_size is None:
            size = self.required_size(shader)
            return limits.stage_size_problems(size, entry.stage, capabilities, varying=varying)
        return limits.subgroup_size_problems(
            self.required_size(shader),
            self.full_subgroups and shader.uses_subgroups,
            entry.local_size.resolve(shader.specialization),
            capabilities,
            varying=varying,
            stage=entry.stage,
        )


def stages_of(
    vertex: Module | None,
    fragment: Module,
    tessellation: tuple[Module, Module] | None = None,
    geometry: Module | None = None,
    mesh: Module | None = None,
    task: Module | None = None,
) -> dict[str, Module]:
    """Return the modules by the names of their stages, in the order of the pipeline.

    Raises
    ------
    InvalidDispatch
        Mesh shaders together with what they replace, or neither.
    """
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

"""Graphics pipelines: shaders from the vertices to the fragments made ready to draw with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vkgroup.device import limits
from vkgroup.device.owner import Owner
from vkgroup.dispatch.attachments import Attachment
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader, check_size_choice, require
from vkgroup.dispatch.draw_checks import check_bound, check_stages, check_state, draws_points
from vkgroup.dispatch.drawing import DrawState
from vkgroup.dispatch.input_attachments import check_inputs
from vkgroup.dispatch.slots import slots_of
from vkgroup.dispatch.stages import check_subgroup_size, merged_push_constants, stage_shader
from vkgroup.dispatch.vertices import MeshGroups, Vertices
from vkgroup.errors import InvalidDispatch
from vkgroup.spirv import Module, writes_built_in

if TYPE_CHECKING:
    from vkgroup.dispatch.draws import Draws


_POINT_SIZE = "shaderTessellationAndGeometryPointSize"
"""The feature with which tessellation and geometry shaders must write sizes of points; else these are 1."""


class GraphicsPipeline(BasePipeline):
    """A graphics pipeline; `Device.graphics_pipeline` makes it.

    Attributes
    ----------
    shaders : the stages with their specialization, in the order of the pipeline.
    state : what it is made for, beside the shaders.
    push_conflict : which push constants of the stages have a name or bytes in common and are not the same;
        empty where none do. They are given as bytes.
    """

    shaders: tuple[Shader, ...]
    _kind_of_draws: type[Draws]

    def __init__(
        self,
        device: Owner,
        vertex: Module | None,
        fragment: Module,
        state: DrawState,
        *,
        tessellation: tuple[Module, Module] | None = None,
        geometry: Module | None = None,
        mesh: Module | None = None,
        task: Module | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        self.device, self.state, self.subgroup_size = device, state, subgroup_size
        self.full_subgroups, self.varying_subgroup_size = full_subgroups, varying_subgroup_size
        device.require_open()
        check_subgroup_size(subgroup_size)
        check_size_choice(subgroup_size, varying_subgroup_size)
        if full_subgroups and mesh is None:
            raise InvalidDispatch("Full subgroups are of task and mesh shaders, which have workgroups.")
        modules = stages_of(vertex, fragment, tessellation, geometry, mesh, task)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in modules.items())
        check_stages([shader.entry_point for shader in self.shaders], state)
        check_state(self.shaders[0].entry_point, self.shaders[-1].entry_point, state)
        last = self.shaders[-2]
        sized = last.entry_point.stage in ("vertex", "mesh") or _POINT_SIZE in device.capabilities.features
        if sized and draws_points(last.entry_point, state) and not writes_built_in(last.module, "PointSize"):
            stage = last.entry_point.stage.replace("_", " ")
            raise InvalidDispatch(
                f"Points need a size, and the {stage} shader writes none: gl_PointSize = 1.0;"
            )
        require(device, self._lacking())
        self.slots = slots_of(
            [binding for module in modules.values() for binding in module.reflection.bindings]
        )
        check_inputs(self.slots, state.inputs)
        self.push_constants, self.push_conflict = merged_push_constants(self.shaders)
        for shader in self.shaders:
            shader.validate(device)
        self._make()

    def _lacking(self) -> list[str]:
        capabilities = self.device.capabilities
        lacking: list[str] = []
        for shader in self.shaders:
            entry = shader.entry_point
            lacking += shader.missing(self.device, self.required_size(shader))
            lacking += limits.exceeded(shader.module.reflection, entry, shader.specialization, capabilities)
            lacking += limits.interface_exceeded(entry, capabilities)
            lacking += self._size_problems(shader)
        patch, most = self.state.patch_vertices, capabilities.limits.get("maxTessellationPatchSize", 0)
        if self.state.topology == "patches" and patch > most:
            lacking.append(f"maxTessellationPatchSize of {patch} (it is {most})")
        if self.state.sample_shading and "sampleRateShading" not in capabilities.features:
            lacking.append("sampleRateShading")
        return list(dict.fromkeys(lacking))

    def _size_problems(self, shader: Shader) -> list[str]:
        """List what stands against the subgroup size that is asked of a stage."""
        capabilities, entry = self.device.capabilities, shader.entry_point
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

    def bind(
        self,
        bindings: Mapping[Any, Any],
        *,
        size: tuple[int, int],
        vertices: Vertices | MeshGroups,
        attachments: tuple[Attachment, ...],
        resolve: bool = True,
    ) -> Draws:
        """Bind everything, ready for any number of draws.

        Parameters
        ----------
        bindings : as for `Pipeline.bind`, of all stages.
        size : width and height in pixels.
        vertices, attachments : what the pipeline's state was made from; `MeshGroups` for mesh shaders.
        resolve : whether several samples of a color are made one.

        Raises
        ------
        InvalidDispatch
            Vertices or attachments are others than the state has; a binding does not fit its place.
        """
        first = self.shaders[0].entry_point.stage
        meshes = first if first in ("task", "mesh") else None
        size = check_bound(self.state, size, vertices, attachments, self.device, meshes)
        return self._kind_of_draws(
            self, bindings, size=size, vertices=vertices, attachments=attachments, resolve=resolve
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
    found = {
        "vertex": vertex,
        "tessellation_control": control,
        "tessellation_evaluation": evaluation,
        "geometry": geometry,
        "task": task,
        "mesh": mesh,
        "fragment": fragment,
    }
    return {stage: module for stage, module in found.items() if module is not None}

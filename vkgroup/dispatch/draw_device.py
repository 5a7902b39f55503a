"""Drawing methods of a device: graphics pipelines, and draws in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.workgroups import padded_counts
from vkgroup.dispatch.attachments import color_attachments, depth_attachment
from vkgroup.dispatch.blocks import checked_mapping
from vkgroup.dispatch.draw_state import DrawFormats, DrawState, inputs_of, size_of
from vkgroup.dispatch.graphics_stages import GraphicsStages, check_made_of, check_state, stages_of
from vkgroup.dispatch.pipeline import Pipeline, PipelineCache
from vkgroup.dispatch.resource_device import ResourceDevice, Source
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import PipelineOptions, check_specialization
from vkgroup.dispatch.vertices import MeshGroups, Vertices, match_vertices, pass_through
from vkgroup.spirv import Module

DEFAULT_STATE = DrawState()


class Drawing(ResourceDevice):
    """The methods of a device that draw."""

    _graphics_pipelines: PipelineCache

    def graphics_pipeline(
        self,
        vertex: Module | None,
        fragment: Module,
        formats: DrawFormats,
        state: DrawState = DEFAULT_STATE,
        *,
        tessellation: tuple[Module, Module] | None = None,
        geometry: Module | None = None,
        mesh: Module | None = None,
        task: Module | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> Pipeline:
        """Make a graphics pipeline; errors are those of `pipeline`.

        Parameters
        ----------
        vertex, fragment : the shaders.
        formats : formats of vertex attributes and attachments.
        state : topology, depth test, samples.
        tessellation : the control and the evaluation shader, between vertices and geometry; the topology is
            then ``"patches"``.
        geometry : the shader between these and the fragments.
        mesh, task : instead of all these: the vertex shader is None.
        specialization : values of specialization constants, by id or by name; each stage takes those that it
            has.
        subgroup_size : a required subgroup size, for the stages with subgroup operations; None takes that
            which the device was opened with, if any.
        full_subgroups : whether every subgroup of task and mesh shaders must be full.
        varying_subgroup_size : whether the subgroup size may vary, in the stages with subgroup operations.
        """
        check_made_of((fragment,), formats, state)
        modules = stages_of(vertex, fragment, _pair(tessellation), geometry, mesh, task)
        check_made_of(tuple(modules.values()), formats, state)
        check_specialization(tuple(modules.values()), checked_mapping(specialization, "specialization"))
        self._base.require_open()
        options = PipelineOptions(None, specialization, subgroup_size, full_subgroups, varying_subgroup_size)
        return self._new_pipeline(
            GraphicsStages(self._base, modules, formats, state, self._with_size(options))
        )

    def draw(
        self,
        shader: Source,
        size: tuple[int, int],
        bindings: Mapping[Any, Any] | None = None,
        *,
        state: DrawState = DEFAULT_STATE,
        vertex: Source | None = None,
        tessellation: tuple[Source, Source] | None = None,
        geometry: Source | None = None,
        mesh: Source | None = None,
        task: Source | None = None,
        groups: Any = None,
        vertices: Mapping[Any, npt.ArrayLike] | None = None,
        indices: npt.ArrayLike | None = None,
        count: int | None = None,
        instances: int = 1,
        colors: Mapping[Any, Any] | None = None,
        depth: Any = None,
        push: Any = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
        repeat: int = 1,
        timeout: float | None = 10.0,
    ) -> RunResult:
        """Draw with a fragment shader, and return the pixels and everything else that was written.

        Errors are those of `run`.

        Parameters
        ----------
        shader : the fragment shader: a module, a file, or source text.
        size : width and height in pixels.
        bindings : as for `run`, of all stages.
        state : topology, depth test, samples, front face.
        vertex : a vertex shader; without, one triangle covers the image, or `vertices` say what to draw.
        tessellation : a control and an evaluation shader, which get patches of
            `state.patch_vertices` vertices.
        geometry : a geometry shader, which gets the primitives of the topology, or of the tessellation.
        mesh, task : a mesh shader instead of all these, and a task shader that starts workgroups of it.
            Neither has vertices, indices, a count, instances or a topology.
        groups : workgroups in x, y and z (a number, or up to three) of the task shader, or of the mesh
            shader where there is none.
        vertices : arrays (vertices, components) by the name or location of the vertex shader's inputs.
            Without a vertex shader: ``"position"`` in clip coordinates, and values of the fragment shader's
            inputs by their names. Where ``"position"`` is missing, the values are those at the corners
            (-1, -1), (3, -1) and (-1, 3) of the triangle that covers the image.
        indices, count, instances : which vertices, in which order, how many, and how often; by default all.
        colors : by the name or location of the fragment shader's outputs: a format's name as in GLSL, the
            contents before the draw, or an `Image`. An output that is left out has 32 bits a component, and
            is cleared to zero.
        depth : ``"d32f"``, ``"d16"``, depths before the draw, or an `Image`; None draws without depth test.
        push, specialization, subgroup_size, repeat, timeout : as for `run`.
        full_subgroups, varying_subgroup_size : as for `graphics_pipeline`.

        Returns
        -------
        Arrays by name: each output (height, width[, components]) with row 0 at the top, ``"depth"``, and
        every writable binding that was given an array.

        Examples
        --------
        >>> source = "#version 450\\nlayout(location = 0) out vec4 color; void main() { color = vec4(1); }"
        >>> vkgroup.open().draw(source, (64, 64))["color"].shape
        (64, 64, 4)
        """
        self._base.require_open()
        check_state(state)
        extent, fragment = size_of(size), self._compiled(shader, "fragment")
        entry = fragment.reflection.entry_point(None)
        if entry.stage != "fragment":
            raise InvalidDispatch(f"{entry.name!r} is a {entry.stage} shader; draws need a fragment shader.")
        given = dict(checked_mapping(vertices, "vertices"))
        if vertex is None and mesh is None:
            vertex = pass_through(entry, given)
        stages = self._stages(tessellation, vertex=vertex, geometry=geometry, mesh=mesh, task=task)
        counted: dict[str, Any] = {"indices": indices, "count": count, "instances": instances}
        data: Vertices | MeshGroups
        if stages["mesh"] is not None:
            data = _mesh_groups(groups, {"vertices": given, "topology": state.topology, **counted})
        elif groups is not None:
            raise InvalidDispatch("groups are of draws with mesh shaders; others take vertices.")
        else:
            data = match_vertices(stages["vertex"].reflection.entry_point(None), given, **counted)
        color = color_attachments(entry, checked_mapping(colors, "colors"), extent, self._base)
        depths = depth_attachment(depth, extent, self._base)
        formats = DrawFormats(
            attributes=data.attributes,
            colors=tuple((item.location or 0, item.format) for item in color),
            depth=None if depths is None else depths.format,
            inputs=inputs_of(fragment, checked_mapping(bindings, "bindings")),
        )
        attachments = color if depths is None else (*color, depths)
        stages["fragment"] = fragment
        options = PipelineOptions(None, specialization, subgroup_size, full_subgroups, varying_subgroup_size)
        pipeline = self._graphics_pipelines.get_or_make(
            (tuple(stages.values()), formats, state, *options.key()),
            lambda: self.graphics_pipeline(
                formats=formats,
                state=state,
                **stages,
                specialization=specialization,
                subgroup_size=subgroup_size,
                full_subgroups=full_subgroups,
                varying_subgroup_size=varying_subgroup_size,
            ),
        )
        with pipeline.bind(bindings or {}, size=extent, vertices=data, attachments=attachments) as work:
            return work.run_result(work.timed(None, push, timeout, repeat=repeat))

    def _stages(self, tessellation: Any, **sources: Source | None) -> dict[str, Any]:
        """Return the modules of sources by stage, and the pair of tessellation, as pipelines take them."""
        modules: dict[str, Any] = {
            stage: None if source is None else self._compiled(source, stage)
            for stage, source in sources.items()
        }
        modules["tessellation"] = None
        if (pair := _pair(tessellation)) is not None:
            stages = ("tessellation_control", "tessellation_evaluation")
            modules["tessellation"] = tuple(
                self._compiled(source, stage) for source, stage in zip(pair, stages, strict=True)
            )
        return modules


def _pair(tessellation: Any) -> Any:
    """Return the two shaders of tessellation."""
    if tessellation is None:
        return None
    if not isinstance(tessellation, tuple | list) or len(tessellation) != 2:
        raise InvalidDispatch("Tessellation is a pair of shaders, (control, evaluation).")
    return tuple(tessellation)


def _mesh_groups(groups: Any, others: Mapping[str, Any]) -> MeshGroups:
    """Return the workgroups of a draw with mesh shaders; `others` are arguments that it does not have."""
    given = [name for name, value in others.items() if value is not None and value != {}]
    if others["instances"] == 1:
        given.remove("instances")
    if given:
        raise InvalidDispatch(f"Mesh shaders have no {', '.join(given)}: leave that out.")
    if groups is None:
        raise InvalidDispatch("Draws with mesh shaders need groups, the number of their workgroups.")
    return MeshGroups(padded_counts(groups))

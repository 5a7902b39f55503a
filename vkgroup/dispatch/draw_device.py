"""What devices do with graphics pipelines: making them, and drawing in one call."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.device.owner import Owner
from vkgroup.dispatch.attachments import color_attachments, depth_attachment
from vkgroup.dispatch.blocks import checked_mapping
from vkgroup.dispatch.draw_checks import check_made_of
from vkgroup.dispatch.drawing import DrawState, size_of
from vkgroup.dispatch.graphics_pipeline import GraphicsPipeline, key_of, stages_of
from vkgroup.dispatch.input_attachments import inputs_of
from vkgroup.dispatch.kept import kept_pipeline, key_of_values
from vkgroup.dispatch.pipeline import padded_counts
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import check_specialization
from vkgroup.dispatch.vertices import MeshGroups, Vertices, match_vertices, pass_through
from vkgroup.errors import InvalidDispatch
from vkgroup.spirv import Module

Source = Module | str | os.PathLike[str]


class Drawing(Closing):
    """The drawing half of a device."""

    _owner: Owner
    _subgroup_size: int | None
    _kind_of_graphics_pipelines: type[GraphicsPipeline]
    _graphics_pipelines: OrderedDict[Any, GraphicsPipeline]

    @abstractmethod
    def compile(self, source: str | os.PathLike[str], *, stage: str | None = None, **options: Any) -> Module:
        """Compile a shader for the device."""

    def graphics_pipeline(
        self,
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
    ) -> GraphicsPipeline:
        """Make a graphics pipeline.

        Parameters
        ----------
        vertex, fragment : the shaders.
        tessellation : the control and the evaluation shader, between vertices and geometry; the state's
            topology is then ``"patches"``.
        geometry : the shader between these and the fragments.
        mesh, task : instead of all these: the vertex shader is None.
        state : formats of attributes and attachments, topology, depth test, samples.
        specialization : values of specialization constants, by id or by name; each stage takes those that it
            has.
        subgroup_size : a required subgroup size, for the stages with subgroup operations; None takes that
            which the device was opened with, if any.
        full_subgroups : whether every subgroup of task and mesh shaders must be full.
        varying_subgroup_size : whether the subgroup size may vary, in the stages with subgroup operations.

        Raises
        ------
        Unsupported
            The device lacks what the shaders need, by Vulkan's names in `missing`.
        InvalidModule, InvalidDispatch
            A module breaks SPIR-V's rules, or is of another stage; the stages do not fit together.
        """
        check_made_of((fragment,), state)
        modules = tuple(stages_of(vertex, fragment, _pair(tessellation), geometry, mesh, task).values())
        check_made_of(modules, state)
        check_specialization(modules, checked_mapping(specialization, "specialization"))
        return self._kind_of_graphics_pipelines(
            self._owner,
            vertex,
            fragment,
            state,
            tessellation=tessellation,
            geometry=geometry,
            mesh=mesh,
            task=task,
            specialization=specialization,
            subgroup_size=self._required_size(subgroup_size, varying_subgroup_size),
            full_subgroups=full_subgroups,
            varying_subgroup_size=varying_subgroup_size,
        )

    def _required_size(self, subgroup_size: int | None, varying: bool) -> int | None:
        """Return the size to require of a pipeline: its own, or the device's where it shall not vary."""
        return self._subgroup_size if subgroup_size is None and not varying else subgroup_size

    def draw(
        self,
        shader: Source,
        size: tuple[int, int],
        bindings: Mapping[Any, Any] | None = None,
        *,
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
        topology: str | None = None,
        patch_vertices: int = 3,
        colors: Mapping[Any, Any] | None = None,
        depth: Any = None,
        depth_compare: str = "less",
        depth_write: bool = True,
        samples: int = 1,
        sample_shading: bool = False,
        front_face: str = "counter_clockwise",
        resolve: bool = True,
        push: Any = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
        repeat: int = 1,
        timeout: float | None = 10.0,
    ) -> RunResult:
        """Draw with a fragment shader, and return the pixels and what was written besides.

        The whole image is the viewport; x goes right, y down, depth from 0 to 1; nothing is culled or
        blended.

        Parameters
        ----------
        shader : the fragment shader: a module, a file, or source text.
        size : width and height in pixels.
        bindings : as for `run`, of both stages.
        vertex : a vertex shader; without, one triangle covers the image, or `vertices` say what to draw.
        tessellation : a control and an evaluation shader, which get patches of `patch_vertices` vertices.
        geometry : a geometry shader, which gets the primitives of the topology, or of the tessellation.
        mesh, task : a mesh shader in the place of all these, and a task shader that says how many workgroups
            of it run. Neither has vertices, indices, a count, instances or a topology.
        groups : workgroups in x, y and z (a number, or up to three) of the task shader, or of the mesh
            shader where there is none.
        vertices : arrays (vertices, components) by the name or location of the vertex shader's inputs.
            Without a vertex shader: ``"position"`` in clip coordinates, and values of the fragment shader's
            inputs by their names. Where ``"position"`` is missing, the values are those at the corners
            (-1, -1), (3, -1) and (-1, 3) of the triangle that covers the image.
        indices, count, instances : which vertices, in which order, how many, and how often; by default all.
        topology : ``"triangles"``, ``"triangle_strip"``, ``"triangle_fan"``, ``"lines"``, ``"line_strip"``
            or ``"points"``, and for geometry shaders ``"lines_adjacency"``, ``"line_strip_adjacency"``,
            ``"triangles_adjacency"`` and ``"triangle_strip_adjacency"``. None: triangles, or ``"patches"``
            where there is tessellation.
        colors : by the name or location of the fragment shader's outputs: a format's name as in GLSL, the
            contents before the draw, or an `Image`. An output that is left out has 32 bits a component, and
            is cleared to zero.
        depth : ``"d32f"``, ``"d16"``, depths before the draw, or an `Image`; None draws without depth test.
        depth_compare, depth_write : which fragments pass, and whether these replace the depths.
        samples : of each pixel: 1, 2, 4, 8 …
        sample_shading : whether the shader runs once for each sample.
        front_face : ``"counter_clockwise"`` or ``"clockwise"``: which triangles have `gl_FrontFacing`, seen
            with y downwards. A picture of OpenGL's has its other side there: choose ``"clockwise"`` for it.
        resolve : whether the samples of a color come back as one, as the device does that; otherwise as
            arrays (height, width, samples[, components]).
        push, specialization, subgroup_size, repeat, timeout : as for `run`.
        full_subgroups, varying_subgroup_size : as for `graphics_pipeline`.

        Returns
        -------
        Arrays by name: each output (height, width[, components]) with row 0 at the top, ``"depth"``, and
        every writable binding that was given an array.

        Raises
        ------
        Unsupported, InvalidModule, InvalidDispatch
            The device cannot do it, or it makes no sense; nothing was drawn.
        DispatchTimeout, DeviceLost
            It did not finish; the device is of no more use.

        Examples
        --------
        >>> source = "#version 450\\nlayout(location = 0) out vec4 color; void main() { color = vec4(1); }"
        >>> vkgroup.open().draw(source, (64, 64))["color"].shape
        (64, 64, 4)
        """
        self._owner.require_open()
        extent, fragment = size_of(size), _module(self, shader, "fragment")
        entry = fragment.reflection.entry_point(None)
        if entry.stage != "fragment":
            raise InvalidDispatch(f"{entry.name!r} is a {entry.stage} shader; draws need a fragment shader.")
        given = dict(checked_mapping(vertices, "vertices"))
        if vertex is None and mesh is None:
            vertex = pass_through(entry, given)
        stages = _stages(self, tessellation, vertex=vertex, geometry=geometry, mesh=mesh, task=task)
        counted: dict[str, Any] = {"indices": indices, "count": count, "instances": instances}
        data: Vertices | MeshGroups
        if stages["mesh"] is not None:
            data = _mesh_groups(groups, {"vertices": given, "topology": topology, **counted})
        elif groups is not None:
            raise InvalidDispatch("groups are of draws with mesh shaders; others take vertices.")
        else:
            data = match_vertices(stages["vertex"].reflection.entry_point(None), given, **counted)
        color = color_attachments(entry, checked_mapping(colors, "colors"), extent, self._owner)
        depths = depth_attachment(depth, extent, self._owner)
        state = DrawState(
            attributes=data.attributes,
            colors=tuple((item.location or 0, item.format) for item in color),
            depth=None if depths is None else depths.format,
            topology=_topology(topology, tessellation is not None),
            patch_vertices=patch_vertices,
            depth_compare=depth_compare,
            depth_write=depth_write,
            samples=samples,
            sample_shading=sample_shading,
            front_face=front_face,
            inputs=inputs_of(fragment, checked_mapping(bindings, "bindings")),
        )
        attachments = color if depths is None else (*color, depths)
        stages["fragment"] = fragment
        control = {
            "subgroup_size": subgroup_size,
            "full_subgroups": full_subgroups,
            "varying_subgroup_size": varying_subgroup_size,
        }
        pipeline = _kept_pipeline(self, stages, state, specialization, control)
        with pipeline.bind(
            bindings or {}, size=extent, vertices=data, attachments=attachments, resolve=resolve
        ) as draws:
            seconds = draws.timed(push, timeout, repeat=repeat)
            places = draws.places()
            places.update({item.location: key_of(item) for item in color if item.location not in places})
            return RunResult(
                draws.results(),
                places,
                seconds,
                defined=draws.defined(),
                ordered=draws.defined(ordered=True),
                events=draws.events,
            )


def _module(device: Drawing, source: Source, stage: str) -> Module:
    return source if isinstance(source, Module) else device.compile(source, stage=stage)


def _topology(given: Any, tessellates: bool) -> Any:
    if given is not None:
        return given
    return "patches" if tessellates else "triangles"


def _pair(tessellation: Any) -> Any:
    """Return the two shaders of tessellation."""
    if tessellation is None:
        return None
    if not isinstance(tessellation, tuple | list) or len(tessellation) != 2:
        raise InvalidDispatch("Tessellation is a pair of shaders, (control, evaluation).")
    return tuple(tessellation)


def _stages(device: Drawing, tessellation: Any, **sources: Source | None) -> dict[str, Any]:
    """Return the modules of sources by stage, and the pair of tessellation, as pipelines take them."""
    found: dict[str, Any] = {
        stage: None if source is None else _module(device, source, stage) for stage, source in sources.items()
    }
    found["tessellation"] = None
    if (pair := _pair(tessellation)) is not None:
        stages = ("tessellation_control", "tessellation_evaluation")
        found["tessellation"] = tuple(
            _module(device, source, stage) for source, stage in zip(pair, stages, strict=True)
        )
    return found


def _mesh_groups(groups: Any, others: Mapping[str, Any]) -> MeshGroups:
    """Return the workgroups of a draw with mesh shaders; `others` are arguments that have no place there."""
    given = [name for name, value in others.items() if value is not None and value != {}]
    if others["instances"] == 1:
        given.remove("instances")
    if given:
        raise InvalidDispatch(f"Mesh shaders have no {', '.join(given)}: leave that out.")
    if groups is None:
        raise InvalidDispatch("Draws with mesh shaders need groups, the number of their workgroups.")
    return MeshGroups(padded_counts(groups))


def _kept_pipeline(
    device: Drawing,
    stages: Mapping[str, Any],
    state: DrawState,
    specialization: Mapping[int | str, Any] | None,
    control: Mapping[str, Any],
) -> GraphicsPipeline:
    """Return a pipeline for `draw`, kept from the last times where it can be."""
    values = key_of_values(specialization)
    return kept_pipeline(
        device._graphics_pipelines,
        (tuple(sorted(stages.items(), key=itemgetter(0))), state, values, *control.values()),
        lambda: device.graphics_pipeline(state=state, **stages, specialization=specialization, **control),
    )

"""Implementation limits by OpenGL name: values of GLSL constants, and maxima for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.base.errors import CompileError

Limit = int | tuple[int, int, int]

#: Minimum limits of every implementation (ARB_compute_shader, table 6.50), used without a device.
MINIMA: Mapping[str, Limit] = {
    "MAX_COMPUTE_WORK_GROUP_COUNT": (65535, 65535, 65535),
    "MAX_COMPUTE_WORK_GROUP_SIZE": (1024, 1024, 64),
    "MAX_COMPUTE_UNIFORM_COMPONENTS": 512,
    "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": 16,
    "MAX_COMPUTE_IMAGE_UNIFORMS": 8,
    "MAX_COMPUTE_ATOMIC_COUNTERS": 8,
    "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": 8,
}

#: Number of stages; a context has bindings for each of them (ARB_compute_shader, issue 9).
_STAGES = 6

#: Members of glslang's structure whose names differ from those of OpenGL.
_OTHER_NAMES = {"MAX_ATOMIC_COUNTER_BUFFER_BINDINGS": "max_atomic_counter_bindings"}

#: ``glslang_resource_t`` of glslang 13. The last member has limits of OpenGL ES, which are not used.
RESOURCE_DECLARATION = """
typedef struct {
    int max_lights, max_clip_planes, max_texture_units, max_texture_coords, max_vertex_attribs,
        max_vertex_uniform_components, max_varying_floats, max_vertex_texture_image_units,
        max_combined_texture_image_units, max_texture_image_units, max_fragment_uniform_components,
        max_draw_buffers, max_vertex_uniform_vectors, max_varying_vectors,
        max_fragment_uniform_vectors, max_vertex_output_vectors, max_fragment_input_vectors,
        min_program_texel_offset, max_program_texel_offset, max_clip_distances,
        max_compute_work_group_count_x, max_compute_work_group_count_y,
        max_compute_work_group_count_z, max_compute_work_group_size_x,
        max_compute_work_group_size_y, max_compute_work_group_size_z,
        max_compute_uniform_components, max_compute_texture_image_units, max_compute_image_uniforms,
        max_compute_atomic_counters, max_compute_atomic_counter_buffers, max_varying_components,
        max_vertex_output_components, max_geometry_input_components, max_geometry_output_components,
        max_fragment_input_components, max_image_units,
        max_combined_image_units_and_fragment_outputs, max_combined_shader_output_resources,
        max_image_samples, max_vertex_image_uniforms, max_tess_control_image_uniforms,
        max_tess_evaluation_image_uniforms, max_geometry_image_uniforms,
        max_fragment_image_uniforms, max_combined_image_uniforms, max_geometry_texture_image_units,
        max_geometry_output_vertices, max_geometry_total_output_components,
        max_geometry_uniform_components, max_geometry_varying_components,
        max_tess_control_input_components, max_tess_control_output_components,
        max_tess_control_texture_image_units, max_tess_control_uniform_components,
        max_tess_control_total_output_components, max_tess_evaluation_input_components,
        max_tess_evaluation_output_components, max_tess_evaluation_texture_image_units,
        max_tess_evaluation_uniform_components, max_tess_patch_components, max_patch_vertices,
        max_tess_gen_level, max_viewports, max_vertex_atomic_counters,
        max_tess_control_atomic_counters, max_tess_evaluation_atomic_counters,
        max_geometry_atomic_counters, max_fragment_atomic_counters, max_combined_atomic_counters,
        max_atomic_counter_bindings, max_vertex_atomic_counter_buffers,
        max_tess_control_atomic_counter_buffers, max_tess_evaluation_atomic_counter_buffers,
        max_geometry_atomic_counter_buffers, max_fragment_atomic_counter_buffers,
        max_combined_atomic_counter_buffers, max_atomic_counter_buffer_size,
        max_transform_feedback_buffers, max_transform_feedback_interleaved_components,
        max_cull_distances, max_combined_clip_and_cull_distances, max_samples,
        max_mesh_output_vertices_nv, max_mesh_output_primitives_nv, max_mesh_work_group_size_x_nv,
        max_mesh_work_group_size_y_nv, max_mesh_work_group_size_z_nv, max_task_work_group_size_x_nv,
        max_task_work_group_size_y_nv, max_task_work_group_size_z_nv, max_mesh_view_count_nv,
        max_mesh_output_vertices_ext, max_mesh_output_primitives_ext,
        max_mesh_work_group_size_x_ext, max_mesh_work_group_size_y_ext,
        max_mesh_work_group_size_z_ext, max_task_work_group_size_x_ext,
        max_task_work_group_size_y_ext, max_task_work_group_size_z_ext, max_mesh_view_count_ext,
        max_dual_source_draw_buffers_ext;
    bool limits[9];
} resource;
"""

Limits = tuple[tuple[str, Limit], ...]
"""Normalized limits: names without ``GL_`` in alphabetical order, each with one number or three."""


def limits_of(limits: Mapping[str, Any] | None) -> Limits:
    """Check and normalize limits, given by OpenGL name with or without ``GL_``.

    Raises CompileError: a value is neither one number nor three numbers, or a name is not that of a limit.
    """
    checked: dict[str, Limit] = {}
    for name, value in (limits or {}).items():
        plain = name.removeprefix("GL_")
        if not plain.startswith(("MAX_", "MIN_")):
            raise CompileError(
                f"{name!r} is not the name of a limit; use names such as MAX_COMPUTE_WORK_GROUP_SIZE"
            )
        checked[plain] = _limit(name, value, three=isinstance(MINIMA.get(plain), tuple))
    return tuple(sorted(checked.items()))


def _limit(name: str, value: Any, *, three: bool) -> Limit:
    numbers = [value] if hasattr(value, "__index__") else value
    try:
        x, *others = (int(number) for number in numbers)
    except (TypeError, ValueError):
        raise CompileError(
            f"limit {name} takes {'three numbers' if three else 'one number'}, not {value!r}"
        ) from None
    if len(others) != (2 if three else 0):
        raise CompileError(f"limit {name} takes {'three numbers' if three else 'one number'}, not {value!r}")
    return (x, others[0], others[1]) if three else x


def fill(resource: Any, limits: Limits) -> None:
    """Write the minima, the given limits and values derived from them into glslang's structure."""
    given = {**MINIMA, **dict(limits)}
    if "MAX_ATOMIC_COUNTER_BUFFER_BINDINGS" not in given:
        buffers = given["MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS"]
        assert isinstance(buffers, int)
        given["MAX_ATOMIC_COUNTER_BUFFER_BINDINGS"] = _STAGES * buffers
    for name, value in given.items():
        field = _OTHER_NAMES.get(name, name.lower())
        names = [field] if isinstance(value, int) else [f"{field}_{axis}" for axis in "xyz"]
        for part, number in zip(names, [value] if isinstance(value, int) else value, strict=True):
            if hasattr(resource, part):
                setattr(resource, part, min(number, 2**31 - 1))

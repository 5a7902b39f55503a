"""A shader for each stage, and small helpers that the compiler's tests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vkgroup.base.errors import CompileError, Diagnostic
from vkgroup.spirv import Module

_RAYS = "#version 460\n#extension GL_EXT_ray_tracing : require\n"
_MESH = "#version 460\n#extension GL_EXT_mesh_shader : require\nlayout(local_size_x = 32) in;\n"

#: A complete shader of each stage.
BY_STAGE = {
    "vertex": "#version 460\nvoid main() { gl_Position = vec4(gl_VertexIndex); }",
    "tessellation_control": "#version 460\nlayout(vertices = 3) out;\n"
    "void main() { gl_TessLevelOuter[0] = 1; }",
    "tessellation_evaluation": "#version 460\nlayout(triangles) in;\nvoid main() { gl_Position = vec4(1); }",
    "geometry": "#version 460\nlayout(points) in;\nlayout(points, max_vertices = 1) out;\n"
    "void main() { EmitVertex(); }",
    "fragment": "#version 460\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(1); }",
    "compute": "#version 460\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer B { uint v[]; } b;\n"
    "void main() { b.v[gl_GlobalInvocationID.x] += 1; }",
    "task": _MESH + "void main() { EmitMeshTasksEXT(1, 1, 1); }",
    "mesh": _MESH + "layout(triangles, max_vertices = 3, max_primitives = 1) out;\n"
    "void main() { SetMeshOutputsEXT(3, 1); }",
    "raygen": _RAYS + "layout(location = 0) rayPayloadEXT vec4 p;\nvoid main() { p = vec4(0); }",
    "any_hit": _RAYS + "void main() { ignoreIntersectionEXT; }",
    "closest_hit": _RAYS + "layout(location = 0) rayPayloadInEXT vec4 p;\nvoid main() { p = vec4(0); }",
    "miss": _RAYS + "layout(location = 0) rayPayloadInEXT vec4 p;\nvoid main() { p = vec4(0); }",
    "intersection": _RAYS + "void main() { reportIntersectionEXT(1.0, 0u); }",
    "callable": _RAYS + "layout(location = 0) callableDataInEXT vec4 d;\nvoid main() { d = vec4(0); }",
}

COMPUTE = BY_STAGE["compute"]


def diagnostics_of(compile_it: Callable[[], Module]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a compilation that must fail."""
    with pytest.raises(CompileError) as caught:
        compile_it()
    assert caught.value.diagnostics
    return caught.value.diagnostics


def places(found: tuple[Diagnostic, ...]) -> list[tuple[str, int]]:
    """Return file and line of each diagnostic."""
    return [(diagnostic.file, diagnostic.line) for diagnostic in found]

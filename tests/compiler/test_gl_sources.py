"""Sources that OpenGL takes: each becomes a module that is valid for Vulkan."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source, interface_of

STORAGE = "buffer B { float v[]; };\n"

#: Bodies of compute shaders that OpenGL takes.
SOURCES = {
    "uniforms in one declaration": (
        "uniform float a, b[2] = float[](1.0, 2.0), c; void main() { v[0] = a + b[1] + c; }"
    ),
    "structure without a name": "uniform struct { float a; int b; } s; void main() { v[0] = s.a + s.b; }",
    "array handed to a function": (
        "uniform mat4 a[2]; float f(mat4 x[2]) { return x[1][0][1]; } void main() { v[0] = f(a); }"
    ),
    "booleans copied": (
        "uniform bool q[3] = bool[](true, false, true); void main() { bool r[3] = q; v[0] = float(r[2]); }"
    ),
    "doubles": (
        "uniform double d = 2.0lf; uniform dvec3 e; uniform dmat2x3 m;"
        "void main() { v[0] = float(d * e.z + m[1].z); }"
    ),
    "images in arrays of arrays": (
        "layout(r32ui) uniform coherent uimage2D a[2][2];"
        "void main() { v[0] = imageAtomicAdd(a[1][int(v[1])], ivec2(0), 1u); }"
    ),
    "textures of every kind": (
        "uniform samplerBuffer a; layout(r32f) uniform imageBuffer b; uniform sampler2DShadow c;"
        "uniform samplerCubeArray d; uniform sampler2DMS e; uniform sampler1DArray f; uniform isampler3D g;"
        "void main() { imageStore(b, 0, texelFetch(a, 0) + texture(c, vec3(0)) + texture(d, vec4(0))"
        "+ texelFetch(e, ivec2(0), 1) + texture(f, vec2(0)) + texture(g, vec3(0))); }"
    ),
    "counters through two functions": (
        "layout(binding = 0) uniform atomic_uint c; uint g(atomic_uint d) { return atomicCounter(d); }"
        "uint f(atomic_uint d) { for (int i = 0; i < 3; ++i) { if (v[i] > 1) { return g(d); } } return 3u; }"
        "void main() { v[0] = float(f(c) + f(c)); }"
    ),
    "majorness of blocks alone": (
        "layout(row_major) uniform; uniform mat3x2 a; uniform U { mat3x2 b; } u;"
        "void main() { v[0] = a[1].x + u.b[2].y; }"
    ),
}


@pytest.mark.parametrize("what", SOURCES)
@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_3])
def test_what_opengl_takes_becomes_valid(what: str, target: TargetEnvironment) -> None:
    source = f"#version 430\nlayout(local_size_x = 1) in;\n{STORAGE}{SOURCES[what]}"
    module = compile_source(source, stage="compute", dialect="gl", target=target)
    assert interface_of(module) is not None


@pytest.mark.parametrize("version", ["310 es", "420\n#extension GL_ARB_compute_shader : require", "460 core"])
def test_versions(version: str) -> None:
    source = f"#version {version}\nlayout(local_size_x = 1) in;\nvoid main() {{}}"
    module = compile_source(source, stage="compute", dialect="gl")
    assert module.reflection.entry_point().local_size


def test_subroutines_do_not_exist() -> None:
    source = "#version 430\nlayout(local_size_x = 1) in;\nsubroutine void f(); subroutine(f) void g() {}\n"
    source += "subroutine uniform f u;\nvoid main() { u(); }"
    with pytest.raises(CompileError, match=r"3: error: .*use a uniform and a switch"):
        compile_source(source, stage="compute", dialect="gl")


@pytest.mark.parametrize(
    ("stage", "source"),
    [
        (
            "geometry",
            "layout(triangles) in; layout(triangle_strip, max_vertices = 3) out; in vec2 t[]; out vec2 s;"
            "void main() { gl_Position = gl_in[0].gl_Position; s = t[1]; EmitVertex(); }",
        ),
        (
            "tessellation_control",
            "layout(vertices = 3) out; in vec2 t[]; out vec2 s[]; patch out float z; void main() {"
            "gl_out[gl_InvocationID].gl_Position = gl_in[0].gl_Position; s[gl_InvocationID] = t[1]; z = 1.0;"
            "barrier(); gl_TessLevelOuter[0] = 1.0; }",
        ),
        (
            "tessellation_evaluation",
            "layout(triangles) in; in vec2 s[]; patch in float z; out vec2 t;"
            "void main() { gl_Position = vec4(gl_TessCoord, z); t = s[0]; }",
        ),
    ],
)
def test_other_stages(stage: str, source: str) -> None:
    module = compile_source(f"#version 430\n{source}", stage=stage, dialect="gl")
    converts = "OpFMul" in {instruction.name for instruction in module.instructions}
    assert converts == (stage != "tessellation_control")

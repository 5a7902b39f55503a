"""Properties in which glslang and shaderc must agree, and a shader that has many of them."""

from __future__ import annotations

from vkgroup.compiler import compile_source
from vkgroup.spirv import Module, Reflection

RICH = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
struct Inner { vec3 p; mat3x2 m; };
layout(constant_id = 3) const uint N = 4;
layout(local_size_x_id = 1, local_size_y = SIZE) in;
layout(binding = 0) readonly buffer B { uint n; layout(row_major) mat4x3 r; Inner inner[2]; uint v[]; } b;
layout(set = 1, binding = 1) buffer C { uint w[]; };
layout(binding = 2, rgba32f) uniform image2D i;
layout(push_constant) uniform P { vec4 a; double d; } p;
shared vec3 s[N * 2];
void main() {
    s[0] = b.inner[1].p + b.r[0];
    w[gl_GlobalInvocationID.x] = subgroupAdd(b.n) + uint(s[0].x);
    imageStore(i, ivec2(0), p.a);
}
"""


def comparable(module: Module) -> tuple[object, ...]:
    """Return what two compilers of different age agree on: the interface, not the ids."""
    reflection: Reflection = module.reflection
    return (
        [
            (entry.name, entry.stage, entry.local_size and entry.local_size.resolve())
            for entry in reflection.entry_points
        ],
        [
            (b.set, b.binding, b.name, b.kind, b.type, b.count, b.readable, b.writable, b.written)
            for b in reflection.bindings
        ],
        reflection.push_constants,
        reflection.specialization_constants,
        reflection.capabilities,
        reflection.subgroup_uses,
    )


def both(source: str, **options: object) -> tuple[Module, Module]:
    first = compile_source(source, compiler="glslang-13", **options)  # type: ignore[arg-type]
    second = compile_source(source, compiler="shaderc", **options)  # type: ignore[arg-type]
    return first, second

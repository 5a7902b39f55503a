"""Shaders of rays that several tests share: those of the six stages count their runs, and write who ran."""

from __future__ import annotations

START = "#version 460\n#extension GL_EXT_ray_tracing : require\n"

HEAD = """#version 460
#extension GL_EXT_ray_tracing : require
#extension GL_EXT_scalar_block_layout : require
// How often each stage ran, and for each invocation of the launch the bits of the stages that ran for it.
layout(set = 0, binding = 0) buffer Counts { uint counts[6]; };
layout(set = 0, binding = 1) buffer Seen { uint seen[]; };
uint place() {
    return gl_LaunchIDEXT.x + gl_LaunchSizeEXT.x * (gl_LaunchIDEXT.y + gl_LaunchSizeEXT.y * gl_LaunchIDEXT.z);
}
void ran(uint stage) {
    atomicAdd(counts[stage], 1u);
    atomicOr(seen[place()], 1u << stage);
}
"""

SCENE = "layout(set = 0, binding = 2) uniform accelerationStructureEXT scene;\n"

RAYGEN = (
    HEAD
    + SCENE
    + """layout(location = 0) rayPayloadEXT uint payload;
layout(location = 1) callableDataEXT uint data;
layout(set = 0, binding = 3) buffer Result { uvec2 result[]; };
// Rays of odd places look away.
void main() {
    ran(0u);
    payload = 100u;
    data = place();
    vec3 direction = vec3(0.0, 0.0, place() % 2u == 0u ? 1.0 : -1.0);
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, 0u, vec3(0.25, 0.25, -1.0), 0.0, direction, 100.0, 0);
    executeCallableEXT(0u, 1);
    result[place()] = uvec2(payload, data);
}"""
)

ANY_HIT = HEAD + "layout(location = 0) rayPayloadInEXT uint payload;\nvoid main() { ran(1u); }"
CLOSEST_HIT = (
    HEAD
    + """layout(location = 0) rayPayloadInEXT uint payload;
hitAttributeEXT vec2 at;
void main() { ran(2u); payload += 10u + uint(gl_PrimitiveID); }"""
)
MISS = HEAD + "layout(location = 0) rayPayloadInEXT uint payload;\nvoid main() { ran(3u); payload += 1u; }"
INTERSECTION = (
    HEAD
    + """hitAttributeEXT vec2 at;
void main() { ran(4u); at = vec2(0.5); reportIntersectionEXT(gl_PrimitiveID == 0 ? 3.0 : 2.0, 0u); }"""
)
CALLABLE = HEAD + "layout(location = 0) callableDataInEXT uint data;\nvoid main() { ran(5u); data *= 3u; }"

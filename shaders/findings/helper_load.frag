// The value of the right or left neighbour in the quad, which both load from a buffer. Without a vertex shader, lavapipe draws the
// image in two triangles, and quads at their edge have helper invocations:
// vkgroup run shaders/findings/helper_load.frag --size 8,4 --in values=values.npy
#version 460
#extension GL_KHR_shader_subgroup_quad : require

// binding 0: 1 to 32, the pixels row by row.
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
// The neighbour's value; 0 if a helper invocation loaded nothing.
layout(location = 0) out uint color;

void main() {
    uint own = values[uint(gl_FragCoord.y) * 8u + uint(gl_FragCoord.x)];
    color = subgroupQuadSwapHorizontal(own);
}

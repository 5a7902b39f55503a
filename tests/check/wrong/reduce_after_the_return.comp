// Smallest value, one atomic a subgroup, by shuffles down; the tail of the last group has left before.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Depth { uint depth[]; };
layout(std430, binding = 1) buffer Nearest { uint nearest; };
layout(push_constant) uniform Push { uint count; } push;

void main() {
    if (gl_GlobalInvocationID.x >= push.count)
        return;
    uint d = depth[gl_GlobalInvocationID.x] + 100u;
    for (uint delta = gl_SubgroupSize / 2u; delta > 0u; delta /= 2u)
        d = min(d, subgroupShuffleDown(d, delta)); // expect: undefined
    if (gl_SubgroupInvocationID == 0u)
        atomicMin(nearest, d);
}

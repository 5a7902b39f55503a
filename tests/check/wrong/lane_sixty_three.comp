// The last lane of a wave of 64 hands its running total on.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Total { uint total; };
void main() {
    uint running = subgroupInclusiveAdd(x[gl_GlobalInvocationID.x]);
    if ((gl_SubgroupInvocationID & 63u) == 63u) // expect: assumes
        atomicAdd(total, running);
}

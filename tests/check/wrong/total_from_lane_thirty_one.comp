// Total of a scan, taken from the last lane, which has the number 31.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) buffer Total { uint total; };
void main() {
    uint running = subgroupInclusiveAdd(x[gl_GlobalInvocationID.x]);
    if (gl_SubgroupInvocationID == 31u) // expect: assumes
        atomicAdd(total, running);
}

// Adds each group's sum to its cell of the result, which the host has just allocated.
// run: --out totals
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Totals { uint totals[]; };
shared uint sum;
void main() {
    if (gl_LocalInvocationIndex == 0u)
        sum = 0u;
    barrier();
    uint part = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        atomicAdd(sum, part);
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        totals[gl_WorkGroupID.x] += sum; // expect: undefined
}

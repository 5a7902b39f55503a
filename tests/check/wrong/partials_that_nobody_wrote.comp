// Sum of a workgroup: a partial sum from each subgroup, then one subgroup adds the partial sums.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint sums[]; };
shared uint partial[128]; // expect: undefined
void main() {
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        partial[gl_SubgroupID] = sum;
    barrier();
    uint total = 0u;
    for (uint k = 0u; k < 128u; ++k)
        total += partial[k];
    if (gl_LocalInvocationIndex == 0u)
        sums[gl_WorkGroupID.x] = total;
}

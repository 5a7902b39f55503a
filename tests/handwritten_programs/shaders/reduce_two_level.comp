#version 460
// Sums in two levels: each subgroup its values, then the first subgroup the subgroups' sums.
// values: count uints. sums: one of each workgroup. total: the sum of all, by one atomic a workgroup; 0 before.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint count; };
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
layout(std430, binding = 2) buffer Total { uint total; };

shared uint partial[gl_WorkGroupSize.x];

void main() {
    uint index = gl_GlobalInvocationID.x;
    uint sum = subgroupAdd(index < count ? values[index] : 0u);
    if (subgroupElect()) partial[gl_SubgroupID] = sum;
    barrier();

    // Each subgroup adds them: in control flow that only one reaches, its lanes need not meet after the loop.
    uvec4 present = subgroupBallot(true);
    uint lanes = subgroupBallotBitCount(present);
    uint part = 0u;
    for (uint k = subgroupBallotExclusiveBitCount(present); k < gl_NumSubgroups; k += lanes) part += partial[k];
    uint all = subgroupAdd(part);
    if (gl_SubgroupID == 0u && subgroupElect()) {
        sums[gl_WorkGroupID.x] = all;
        atomicAdd(total, all);
    }
}

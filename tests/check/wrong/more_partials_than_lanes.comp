// Sum of a workgroup in two steps of subgroupAdd: right while a subgroup has a lane for every subgroup.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint partial[256];
void main() {
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]); // expect: diverges
    if (subgroupElect())
        partial[gl_SubgroupID] = sum;
    barrier();
    if (gl_SubgroupID == 0u) {
        uint part = gl_SubgroupInvocationID < gl_NumSubgroups ? partial[gl_SubgroupInvocationID] : 0u;
        uint total = subgroupAdd(part); // expect: reconvergence
        if (subgroupElect())
            sums[gl_WorkGroupID.x] = total; // expect: differs
    }
}

// Sum of a workgroup of 64: two warps, so two partial sums.
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
shared uint warp_sums[2];
void main() {
    uint sum = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (gl_LocalInvocationIndex < 2u)
        warp_sums[gl_LocalInvocationIndex] = 0u;
    barrier();
    if (subgroupElect())
        warp_sums[gl_SubgroupID] = sum; // expect: bounds
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        sums[gl_WorkGroupID.x] = warp_sums[0] + warp_sums[1];
}

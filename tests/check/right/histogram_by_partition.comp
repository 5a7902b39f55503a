// A histogram with one atomic for each value that a subgroup has.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_NV_shader_subgroup_partitioned : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Keys { uint keys[]; };
layout(std430, binding = 1) buffer Histogram { uint histogram[16]; };
void main() {
    uint key = keys[gl_GlobalInvocationID.x] & 15u;
    uvec4 same = subgroupPartitionNV(key);
    uint count = subgroupPartitionedAddNV(1u, same);
    if (subgroupBallotFindLSB(same) == gl_SubgroupInvocationID)
        atomicAdd(histogram[key], count);
}

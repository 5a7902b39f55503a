#version 460
// Sums and ranks within groups of equal keys in a subgroup, by partitioned operations.
// keys, values: one uint an invocation. sums: of the values with the same key. ranks: how many of them come before.
// places: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_NV_shader_subgroup_partitioned : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Keys { uint keys[]; };
layout(std430, binding = 1) readonly buffer Values { uint values[]; };
layout(std430, binding = 2) writeonly buffer Sums { uint sums[]; };
layout(std430, binding = 3) writeonly buffer Ranks { uint ranks[]; };
layout(std430, binding = 4) writeonly buffer Places { uvec2 places[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    uvec4 group = subgroupPartitionNV(keys[me]);
    sums[me] = subgroupPartitionedAddNV(values[me], group);
    ranks[me] = subgroupBallotExclusiveBitCount(group);
    places[me] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

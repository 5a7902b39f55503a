#version 460
// Stream compaction: each subgroup takes room for the values that it keeps by one atomic, and ranks them by a ballot.
// values: count uints; those divisible by 3 or 5 are kept. kept_count: 0 before. kept: the values, in any order.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128) in;
layout(push_constant) uniform Push { uint count; };
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) buffer Count { uint kept_count; };
layout(std430, binding = 2) writeonly buffer Kept { uint kept[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    // No early return, after which the lanes that are left need not be together.
    uint value = index < count ? values[index] : 1u;
    bool keep = value % 3u == 0u || value % 5u == 0u;
    uvec4 keepers = subgroupBallot(keep);
    uint start = 0u;
    if (subgroupElect()) start = atomicAdd(kept_count, subgroupBallotBitCount(keepers));
    start = subgroupBroadcastFirst(start);
    if (keep) kept[start + subgroupBallotExclusiveBitCount(keepers)] = value;
}

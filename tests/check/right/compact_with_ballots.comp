// Appends the values that are multiples of three to a list; one atomic a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Count { uint count; };
layout(binding = 2) writeonly buffer List { uint list[]; };
void main() {
    uint v = values[gl_GlobalInvocationID.x];
    bool wanted = v % 3u == 0u;
    uvec4 votes = subgroupBallot(wanted);
    uint first = 0u;
    if (subgroupElect())
        first = atomicAdd(count, subgroupBallotBitCount(votes));
    first = subgroupBroadcastFirst(first);
    if (wanted)
        list[first + subgroupBallotExclusiveBitCount(votes)] = v;
}

// Appends the odd values to a list; one atomic for a subgroup.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Count { uint count; };
layout(binding = 2) buffer List { uint list[]; };
void main() {
    uint v = values[gl_GlobalInvocationID.x];
    bool wanted = (v & 1u) == 1u;
    uvec4 votes = subgroupBallot(wanted);
    uint first; // expect: undefined
    if (subgroupElect())
        first = atomicAdd(count, subgroupBallotBitCount(votes));
    if (wanted)
        list[first + subgroupBallotExclusiveBitCount(votes)] = v;
}

#version 460
// Ballot: one bit for each lane; counts of bits give each lane its place in a compacted list.
// values: one number per invocation. results: ten times the number of odd values, and those before the lane.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uvec4 odd = subgroupBallot(value % 2u == 1u);
    uint count = subgroupBallotBitCount(odd);
    uint at = subgroupBallotExclusiveBitCount(odd);
    results[i] = 10u * count + at;
}

// Counts the places where a pattern of three letters begins.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Text { uint letter[]; };
layout(std430, binding = 1) buffer Matches { uint matches; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    bool match = i + 3u <= uint(letter.length());
    for (uint k = 0u; match && k < 3u; ++k)
        match = (letter[i + k] & 1u) == (k & 1u);
    uint count = subgroupBallotBitCount(subgroupBallot(match));
    if (subgroupElect())
        atomicAdd(matches, count);
}

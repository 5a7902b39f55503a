// Inclusive prefix sum of each subgroup, Hillis and Steele's, in shuffles.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Flags { uint flag[]; };
layout(std430, binding = 1) writeonly buffer Ranks { uint rank[]; };

uint scan(uint value) {
    for (uint d = 1u; d < gl_SubgroupSize; d *= 2u) // expect: diverges
        value += subgroupShuffleUp(value, d); // expect: diverges, undefined
    return value;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    rank[i] = scan(flag[i] & 1u); // expect: differs, undefined
}

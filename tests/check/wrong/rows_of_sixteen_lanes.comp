// Sums of rows of 16 values: the upper half of a subgroup of 32 fetches its sum from lane 16.
#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Matrix { uint m[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint lane = gl_SubgroupInvocationID;
    uint v = m[i];
    for (uint mask = 1u; mask < 16u; mask <<= 1) // expect: assumes
        v += subgroupShuffleXor(v, mask); // expect: assumes, diverges
    sums[i] = v; // expect: assumes
}

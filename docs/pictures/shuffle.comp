#version 460
// Shuffles: each lane gets the value of a lane that it chooses.
// values: one number per invocation. results: the sum of what the lane gets.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint value = values[i];
    uint back = subgroupShuffle(value, 7u - lane);
    uint pair = subgroupShuffleXor(value, 1u);
    uint left = subgroupShuffleUp(value, 1u);
    if (lane == 0u) left = 0u;  // no lane before it
    results[i] = back + pair + left;
}

#version 460
// Broadcast: the value of one lane, chosen by its number, or the first active one.
// values: one number per invocation. results: both values.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint value = values[i];
    uint third = subgroupBroadcast(value, 2u);
    uint first = 0u;
    if (lane > 2u) {
        first = subgroupBroadcastFirst(value);
    }
    results[i] = third + first;
}

#version 460
// Votes: one answer from the conditions of all active lanes.
// values: one number per invocation. results: the number of votes that are true.
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    bool all = subgroupAll(value > 0u);
    bool any = subgroupAny(value > 5u);
    bool equal = subgroupAllEqual(value);
    results[i] = uint(all) + uint(any) + uint(equal);
}

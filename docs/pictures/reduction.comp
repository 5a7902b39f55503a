#version 460
// Reduction: one number from the values of all active lanes.
// values: one number per invocation. results: sum and maximum.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uint sum = subgroupAdd(value);
    uint most = subgroupMax(value);
    results[i] = sum * most;
}

#version 460
// Scans: sums of the values before each lane, with and without its own.
// values: one number per invocation. results: both sums.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uint with = subgroupInclusiveAdd(value);
    uint before = subgroupExclusiveAdd(value);
    results[i] = with + before;
}

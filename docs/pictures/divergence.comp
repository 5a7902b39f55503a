#version 460
// Divergence at a branch, and reconvergence after it.
// values: one number per invocation. results: the sum of the lane's side, and the lanes at the end.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uint sum;
    if (value % 2u == 1u) {
        sum = subgroupAdd(value);
    } else {
        sum = subgroupAdd(100u);
    }
    uint together = subgroupAdd(1u);
    results[i] = sum + together;
}

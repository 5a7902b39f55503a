#version 460
// Active lanes: a subgroup operation in a branch ignores the other lanes.
// values: one number per invocation. results: the sum of the active lanes.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint value = values[i];
    uint sum = 0u;
    if (lane % 3u != 1u) {
        sum = subgroupAdd(value);
    }
    results[i] = sum;
}

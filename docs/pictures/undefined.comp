#version 460
// A shuffle from an inactive lane, which is undefined: lane 3 reads lane 2.
// values: one number per invocation. results: the value of the lane's partner.
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint value = values[i];
    uint other = 0u;
    if (lane != 2u) {
        other = subgroupShuffle(value, lane ^ 1u);
    }
    results[i] = other;
}

#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Values { uint values[]; };

void main() {
    uint x = gl_LocalInvocationIndex;
    if (x > 2u) x = subgroupExclusiveAdd(x);
    values[gl_LocalInvocationIndex] = subgroupShuffle(x, 7u - gl_SubgroupInvocationID);
}

#version 460
// subgroupAllEqual of vectors that are equal only in the first component: must be false in every invocation.
// result: 1 if subgroupAllEqual returned true.
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    result[index] = subgroupAllEqual(uvec2(7u, index)) ? 1u : 0u;
}

#version 460
// gl_NumSubgroups in a workgroup that is not a multiple of the subgroup: every gl_SubgroupID must be less than it.
// result: 1 in invocations whose gl_SubgroupID is not less.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 63) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    result[gl_LocalInvocationIndex] = gl_SubgroupID < gl_NumSubgroups ? 0u : 1u;
}

#version 460
// gl_NumSubgroups in a workgroup that is no multiple of the subgroup: every gl_SubgroupID must lie below it.
// result: 1 in invocations whose gl_SubgroupID does not.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 63) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    result[gl_LocalInvocationIndex] = gl_SubgroupID < gl_NumSubgroups ? 0u : 1u;
}

#version 460
// gl_SubgroupID in a 2-D workgroup: each (gl_SubgroupID, gl_SubgroupInvocationID) must belong to one invocation.
// result: number of occurrences of each pair, at gl_SubgroupID × gl_SubgroupSize + gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 4, local_size_y = 16) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    atomicAdd(result[gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID], 1u);
}

#version 460
// A cluster of two invocations of which one exists; the workgroup has one subgroup, whose number is 0.
// Dispatch 1 workgroup, result: one word. Expected: 0. On an affected driver it is 0xffffffff, the identity of And.
#extension GL_KHR_shader_subgroup_clustered : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    result[gl_WorkGroupID.x] = subgroupClusteredAnd(gl_SubgroupInvocationID * gl_SubgroupID, 2u);
}

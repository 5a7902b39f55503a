#version 460
// Subgroups of a workgroup: where each invocation is.
// results: tens for the subgroup, ones for the lane.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 16) in;
layout(std430, binding = 0) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint subgroup = gl_SubgroupID;
    uint lane = gl_SubgroupInvocationID;
    results[i] = 10u * subgroup + lane;
}

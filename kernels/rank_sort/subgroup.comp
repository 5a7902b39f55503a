#version 460
// Sort of short rows by ranks, with subgroup operations: a team is a subgroup, which adds its counts.
// Bindings and macros: rank.glsl. Subgroups must be full.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "rank.glsl"

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    Part part = part_of(group * gl_NumSubgroups + gl_SubgroupID);
    if (part.row >= rows)
        return;
    uint before[ITEMS];
    count_before(part, gl_SubgroupInvocationID, gl_SubgroupSize, before);
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint rank = subgroupAdd(before[i]);
        if (gl_SubgroupInvocationID == i % gl_SubgroupSize)
            move(part.row, part.first + i, rank);
    }
}

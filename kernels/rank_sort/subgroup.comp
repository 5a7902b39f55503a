#version 460
// Sort of short rows by ranks, with subgroup operations: a team is TEAM subgroups. Each adds its counts, and the first
// one adds the sums of the others. Bindings and macros: rank.glsl. Subgroups must be full.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "rank.glsl"

layout(constant_id = 10) const uint TEAM = 1u;    // subgroups of a team; those of the workgroup are a multiple of it

shared uint sums[SUBGROUPS * ITEMS];              // of each subgroup, if a team has several

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint member = gl_SubgroupID % TEAM;
    Part part = part_of(group * (gl_NumSubgroups / TEAM) + gl_SubgroupID / TEAM);
    uint before[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        before[i] = 0u;
    if (part.row < rows)
        count_before(part, member * gl_SubgroupSize + lane, TEAM * gl_SubgroupSize, before);
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint sum = subgroupAdd(before[i]);
        if (lane != i % gl_SubgroupSize)
            continue;
        if (TEAM == 1u)
            move(part.row, part.first + i, sum);
        else
            sums[gl_SubgroupID * ITEMS + i] = sum;
    }
    if (TEAM == 1u)
        return;
    barrier();
    if (member == 0u)
        for (uint i = lane; i < ITEMS; i += gl_SubgroupSize) {
            uint rank = 0u;
            for (uint k = 0u; k < TEAM; ++k)
                rank += sums[(gl_SubgroupID + k) * ITEMS + i];
            move(part.row, part.first + i, rank);
        }
}

#version 460
// Sort of short rows by ranks, without subgroup operations: TEAM invocations add their counts in shared memory.
// Bindings and macros: rank.glsl.
#include "rank.glsl"

layout(constant_id = 10) const uint TEAM = 32u;    // invocations of a team; the workgroup is a multiple of it

shared uint ranks[WORKGROUP / TEAM * ITEMS];       // ITEMS of each team

void main() {
    uint teams = WORKGROUP / TEAM;
    uint team = gl_LocalInvocationIndex / TEAM, member = gl_LocalInvocationIndex % TEAM;
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    for (uint i = gl_LocalInvocationIndex; i < teams * ITEMS; i += WORKGROUP)
        ranks[i] = 0u;
    barrier();
    Part part = part_of(group * teams + team);
    uint before[ITEMS];
    if (part.row < rows) {
        count_before(part, member, TEAM, before);
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)
            atomicAdd(ranks[team * ITEMS + i], before[i]);
    }
    barrier();
    for (uint i = member; i < ITEMS; i += TEAM)
        move(part.row, part.first + i, ranks[team * ITEMS + i]);
}

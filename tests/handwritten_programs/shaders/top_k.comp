#version 460
// The eight greatest values of a subgroup, found one after the other by subgroupMax and a vote who holds it.
// values: one uint an invocation. top: for each invocation its value's rank from 0 on if that is below 8, else 8.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID. Equal values rank by lane.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Top { uint top[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uint index = gl_GlobalInvocationID.x, value = values[index], rank = 8u;
    for (uint next = 0u; next < 8u; next++) {
        // Values are below 2^31: one more, so that 0 means an invocation that has its rank.
        uint greatest = subgroupMax(rank == 8u ? value + 1u : 0u);
        bool holds = rank == 8u && value + 1u == greatest;
        uvec4 holders = subgroupBallot(holds);
        if (holds && gl_SubgroupInvocationID == subgroupBallotFindLSB(holders)) rank = next;
    }
    top[index] = rank;
    lanes[index] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

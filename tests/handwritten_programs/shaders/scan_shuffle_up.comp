#version 460
// Running maximum over the subgroup by subgroupShuffleUp, written by hand. Lanes that are not there are left out.
// values: one int an invocation. running: the greatest value of the subgroup up to this lane.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 96) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Running { int running[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uint lane = gl_SubgroupInvocationID;
    uvec4 present = subgroupBallot(true);
    int greatest = values[gl_GlobalInvocationID.x];
    for (uint reach = 1u; reach < gl_SubgroupSize; reach *= 2u) {
        int other = subgroupShuffleUp(greatest, reach);
        if (lane >= reach && subgroupBallotBitExtract(present, lane - reach)) greatest = max(greatest, other);
    }
    running[gl_GlobalInvocationID.x] = greatest;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, lane);
}

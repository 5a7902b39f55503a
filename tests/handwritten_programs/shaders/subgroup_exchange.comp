#version 460
// Lanes hand values on through shared memory, ordered by subgroupBarrier alone: each round everybody takes the value of
// the next lane of the subgroup and adds its own.
// values: one uint an invocation. results: after the rounds. lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
#include "order.glsl"
layout(push_constant) uniform Push { uint rounds; };
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

shared uint slots[gl_WorkGroupSize.x];

void main() {
    uvec4 present = subgroupBallot(true);
    uint order = subgroup_order(), count = subgroupBallotBitCount(present);
    uint rank = subgroupBallotExclusiveBitCount(present), next = order - rank + (rank + 1u) % count;
    uint value = values[gl_GlobalInvocationID.x];
    for (uint round = 0u; round < rounds; round++) {
        slots[order] = value;
        subgroupBarrier();
        value = 3u * slots[next] + value;
        subgroupBarrier();
    }
    results[gl_GlobalInvocationID.x] = value;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

#version 460
// Stable compaction by one workgroup, which goes through the array in chunks and keeps the order.
// values: ints; those not 0 are kept. kept: them, in order. kept_count: how many.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 128) in;
#include "order.glsl"
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Kept { int kept[]; };
layout(std430, binding = 2) writeonly buffer Count { uint kept_count; };

shared uint counts[gl_WorkGroupSize.x];

void main() {
    uint me = subgroup_order(), total = 0u, length = uint(values.length());
    for (uint chunk = 0u; chunk < length; chunk += gl_WorkGroupSize.x) {
        int value = chunk + me < length ? values[chunk + me] : 0;
        uvec4 keepers = subgroupBallot(value != 0);
        if (subgroupElect()) counts[gl_SubgroupID] = subgroupBallotBitCount(keepers);
        barrier();
        uint before = total;
        for (uint k = 0u; k < gl_NumSubgroups; k++) {
            if (k < gl_SubgroupID) before += counts[k];
            total += counts[k];
        }
        if (value != 0) kept[before + subgroupBallotExclusiveBitCount(keepers)] = value;
        barrier();
    }
    if (gl_LocalInvocationIndex == 0u) kept_count = total;
}

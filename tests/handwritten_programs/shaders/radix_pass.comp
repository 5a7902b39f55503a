#version 460
// One pass of a radix sort by one workgroup: sorts by four bits of the key, stably, with the payload.
// keys, payloads: 256 uints. sorted_keys, sorted_payloads: the same, in the order of (key >> shift) & 15.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 256) in;
#include "order.glsl"
layout(push_constant) uniform Push { uint shift; };
layout(std430, binding = 0) readonly buffer Keys { uint keys[]; };
layout(std430, binding = 1) readonly buffer Payloads { uint payloads[]; };
layout(std430, binding = 2) writeonly buffer SortedKeys { uint sorted_keys[]; };
layout(std430, binding = 3) writeonly buffer SortedPayloads { uint sorted_payloads[]; };

// counts[digit][subgroup]: how many of the subgroup's keys have the digit; then how many keys come before those.
shared uint counts[16][gl_WorkGroupSize.x];
shared uint totals[16];

void main() {
    uint me = subgroup_order();
    uint key = keys[me], digit = bitfieldExtract(key, int(shift), 4), rank = 0u;
    for (uint d = 0u; d < 16u; d++) {
        uvec4 same = subgroupBallot(digit == d);
        if (digit == d) rank = subgroupBallotExclusiveBitCount(same);
        if (subgroupElect()) counts[d][gl_SubgroupID] = subgroupBallotBitCount(same);
    }
    barrier();
    if (gl_LocalInvocationIndex < 16u) {
        uint d = gl_LocalInvocationIndex, sum = 0u;
        for (uint subgroup = 0u; subgroup < gl_NumSubgroups; subgroup++) {
            uint count = counts[d][subgroup];
            counts[d][subgroup] = sum;
            sum += count;
        }
        totals[d] = sum;
    }
    barrier();
    uint place = counts[digit][gl_SubgroupID] + rank;
    for (uint d = 0u; d < digit; d++) place += totals[d];
    sorted_keys[place] = key;
    sorted_payloads[place] = payloads[me];
}

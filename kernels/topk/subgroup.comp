// The first k elements of each row in an order, by a radix select with subgroup operations.
//
// Ballots count the digits that are equal in a subgroup, and scans within subgroups give positions. Shared
// memory holds the counts of digits, and one sum per subgroup.
//
// Bindings: 0 the elements, row by row; 1 the values and 2 the indices of the taken elements, in the order of
// indices; 3 to 5 are for long rows: counts of digits (initially zeros), states, and tallies of parts.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "order.glsl"
#include "select.glsl"

shared uint subgroup_sums[SUBGROUPS];

uint invocation() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// Each invocation adds the sums of all subgroups by itself. On an NVIDIA H200 (driver 580.159.04) results were wrong
// when the lanes divided these sums among themselves and combined them by subgroupAdd.
uint scan(uint own, out uint total) {
    uint inside = subgroupExclusiveAdd(own), sum_here = subgroupAdd(own);
    if (subgroupElect())
        subgroup_sums[gl_SubgroupID] = sum_here;
    barrier();
    uint before = 0u, all = 0u;
    for (uint i = 0u; i < gl_NumSubgroups; ++i) {
        before += i < gl_SubgroupID ? subgroup_sums[i] : 0u;
        all += subgroup_sums[i];
    }
    total = all;
    barrier();    // the next scan may write
    return before + inside;
}

// The first lane with a digit to count counts it for all lanes with the same digit: leading digits are often
// equal, and atomic operations on one address wait for each other. Other lanes count their own digits.
void count_digit(bool counted, uint digit) {
    uvec4 counting = subgroupBallot(counted);
    if (counting == uvec4(0u))
        return;
    uint first = subgroupBallotFindLSB(counting);
    bool same = counted && digit == subgroupShuffle(digit, first);
    uint lanes = subgroupBallotBitCount(subgroupBallot(same));
    if (gl_SubgroupInvocationID == first)
        atomicAdd(bins[digit], lanes);
    else if (counted && !same)
        atomicAdd(bins[digit], 1u);
}

// The first k elements of each row in an order, by a radix select with subgroup operations.
//
// Scans within subgroups give positions. Shared memory holds the counts of digits, and one sum per subgroup. (To
// count equal digits of a subgroup at once, found by a ballot, took 1.5 to 2 times as long on an NVIDIA H200, even
// if all elements were equal.)
//
// Bindings: 0 the elements, row by row; 1 the values and 2 the indices of the taken elements, in the order of
// indices; 3 to 5 are for long rows: counts of digits (initially zeros), states, and tallies of parts.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#extension GL_KHR_shader_subgroup_basic : require
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

void count_digit(bool counted, uint digit) {
    if (counted)
        atomicAdd(bins[digit], 1u);
}

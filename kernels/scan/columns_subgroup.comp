#version 460
// Scan along an axis that is not the last, with subgroup operations.
//
// The lanes of a subgroup whose distance is a multiple of COLUMNS have runs of one column. They scan these by
// shuffles; every subgroup then gives one number per column to the others through shared memory. If there are
// more COLUMNS than lanes, every run gives its own.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "operation.glsl"
#if T_BITS == 64 && !T_FLOAT
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

uint invocation() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

#include "columns.glsl"

// Two halves, used in turn: one is written while slow invocations still read the other.
shared T parts[2u * WORKGROUP];
uint half_in_use = 0u;

T scan_in_workgroup(T own, inout T carry) {
    uint lane = gl_SubgroupInvocationID, column = invocation() % COLUMNS;
    T before = IDENTITY;
    for (uint distance = COLUMNS; distance < gl_SubgroupSize; distance *= 2u) {
        T other = subgroupShuffleUp(own, distance);
        if (lane >= distance)
            own = COMBINE(other, own);
    }
    if (COLUMNS < gl_SubgroupSize) {
        T other = subgroupShuffleUp(own, COLUMNS);
        if (lane >= COLUMNS)
            before = other;
    }

    bool by_subgroup = COLUMNS <= gl_SubgroupSize;
    uint part = by_subgroup ? gl_SubgroupID : invocation() / COLUMNS;
    uint count = by_subgroup ? gl_NumSubgroups : RUNS;
    half_in_use = WORKGROUP - half_in_use;
    // The last lanes have the combinations of the subgroup, each of another column.
    if (by_subgroup ? lane >= gl_SubgroupSize - COLUMNS : part < RUNS)
        parts[half_in_use + part * COLUMNS + column] = own;
    barrier();
    T all = IDENTITY, earlier = IDENTITY;
    for (uint i = 0u; i < count; ++i) {
        if (i == part)
            earlier = all;
        all = COMBINE(all, parts[half_in_use + i * COLUMNS + column]);
    }
    before = COMBINE(COMBINE(carry, earlier), before);
    carry = COMBINE(carry, all);
    return before;
}

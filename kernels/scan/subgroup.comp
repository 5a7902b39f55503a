#version 460
// Scan in one pass over memory: decoupled look-back, with subgroup operations.
// values: count elements. scanned: the results. look_back: zeros before, if there are several tiles. heads: see
// tile.glsl.
//
// Each subgroup has a segment of the tile, which it reads in vectors; adjacent lanes read adjacent vectors. A
// lane scans each vector, the subgroup scans the sums of the lanes, and the total of a row of vectors is
// carried to the next row. The elements stay in registers while the first subgroup looks back.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "operation.glsl"
#if T_BITS == 64 && !T_FLOAT
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

#if OPERATION == ADD
#define SUBGROUP_SCAN subgroupInclusiveAdd
#define SUBGROUP_BEFORE subgroupExclusiveAdd
#elif OPERATION == MUL
#define SUBGROUP_SCAN subgroupInclusiveMul
#define SUBGROUP_BEFORE subgroupExclusiveMul
#elif OPERATION == MIN
#define SUBGROUP_SCAN subgroupInclusiveMin
#define SUBGROUP_BEFORE subgroupExclusiveMin
#elif OPERATION == MAX
#define SUBGROUP_SCAN subgroupInclusiveMax
#define SUBGROUP_BEFORE subgroupExclusiveMax
#elif OPERATION == AND
#define SUBGROUP_SCAN subgroupInclusiveAnd
#define SUBGROUP_BEFORE subgroupExclusiveAnd
#elif OPERATION == OR
#define SUBGROUP_SCAN subgroupInclusiveOr
#define SUBGROUP_BEFORE subgroupExclusiveOr
#else
#define SUBGROUP_SCAN subgroupInclusiveXor
#define SUBGROUP_BEFORE subgroupExclusiveXor
#endif

#define CARRIED T
#define CARRIED_BITS T_BITS
#include "tile.glsl"
#if SEGMENTS != NONE
#define HEADS 1
#endif
#if ONE_GROUP
#include "../include/one_group.glsl"
#else
#include "../include/look_back_subgroup.glsl"
#endif

// The sums of the subgroups, later the prefix of each subgroup in its tile: first for this workgroup's tile,
// then for a tile that is computed instead of another workgroup.
shared T parts[2u * SUBGROUPS];
#if SEGMENTS != NONE
shared bool headed[2u * SUBGROUPS];
#endif

// A value to scan: the sum since the last head, and whether there was a head.
struct Sum {
    T value;
    bool headed;
};

Sum add(Sum a, Sum b) {
    return Sum(SEGMENTS != NONE && b.headed ? b.value : COMBINE(a.value, b.value), a.headed || b.headed);
}

// The combination of all earlier lanes; `all`: that of the whole subgroup.
Sum scan_lanes(Sum own, out Sum all) {
    uint last = gl_SubgroupSize - 1u;
#if SEGMENTS == NONE
    T before = SUBGROUP_BEFORE(own.value);
    all = Sum(subgroupShuffle(COMBINE(before, own.value), last), false);
    return Sum(before, false);
#else
    // Steps of doubling distance; no step crosses the nearest earlier head.
    uvec4 heads_ballot = subgroupBallot(own.headed);
    uvec4 at_or_before = heads_ballot & gl_SubgroupLeMask;
    bool any = subgroupBallotBitCount(at_or_before) != 0u;
    uint first = any ? subgroupBallotFindMSB(at_or_before) : 0u;
    T sum = own.value;
    for (uint distance = 1u; distance < gl_SubgroupSize; distance *= 2u) {
        T other = subgroupShuffleUp(sum, distance);
        if (gl_SubgroupInvocationID >= first + distance)
            sum = COMBINE(other, sum);
    }
    T before = subgroupShuffleUp(sum, 1u);
    all = Sum(subgroupShuffle(sum, last), subgroupBallotBitCount(heads_ballot) != 0u);
    if (gl_SubgroupInvocationID == 0u)
        before = IDENTITY;
    return Sum(before, subgroupBallotBitCount(heads_ballot & gl_SubgroupLtMask) != 0u);
#endif
}

// A lane's vectors are one subgroup size apart.
uint vector_slot(uint k) {
    return (gl_SubgroupID * VECTORS + k) * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// Scan one row of vectors, one per lane; `carry` is the total of the previous rows.
void scan_row(inout T x[WIDTH], uint head_bits, inout Sum carry, out uint open) {
    T sum = scan_vector(x, head_bits, open);
    Sum all;
    Sum before = add(carry, scan_lanes(Sum(sum, head_bits != 0u), all));
    carry = add(carry, all);
    settle_vector(x, open, before.value, !before.headed);
}

void put_sum(uint slot, Sum sum) {
    parts[slot] = sum.value;
#if SEGMENTS != NONE
    headed[slot] = sum.headed;
#endif
}

Sum get_sum(uint slot) {
#if SEGMENTS != NONE
    return Sum(parts[slot], headed[slot]);
#else
    return Sum(parts[slot], false);
#endif
}

// Scan the sums of the subgroups in the first subgroup; returns the sum of the tile.
Known scan_parts(uint offset) {
    Sum carry = Sum(IDENTITY, false);
    for (uint first = 0u; first < gl_NumSubgroups; first += gl_SubgroupSize) {
        uint i = first + gl_SubgroupInvocationID;
        Sum own = Sum(IDENTITY, false);
        if (i < gl_NumSubgroups)
            own = get_sum(offset + i);
        Sum all;
        Sum before = add(carry, scan_lanes(own, all));
        if (i < gl_NumSubgroups)
            put_sum(offset + i, before);
        carry = add(carry, all);
    }
    return Known(carry.headed ? HEADED : PRESENT, carry.value);
}

// Store the sum of this subgroup for scan_parts.
void put_part(uint offset, Sum sum) {
    if (subgroupElect())
        put_sum(offset + gl_SubgroupID, sum);
    barrier();
}

// Recompute the tile of another workgroup, with the same additions and so the same bits.
Known recompute(uint tile) {
    bool whole = is_whole(tile);
    Sum carry = Sum(IDENTITY, false);
    for (uint k = 0u; k < VECTORS; ++k) {
        uint vector = vector_of(tile, k);
        T x[WIDTH];
        read_vector(vector, whole, x);
        uint open;
        scan_row(x, heads_of(vector), carry, open);
    }
    put_part(SUBGROUPS, carry);
    return gl_SubgroupID == 0u ? scan_parts(SUBGROUPS) : Known(PRESENT, IDENTITY);
}

// The tile is handled here and not in a function: otherwise NVIDIA's driver 580 does not keep the elements in
// registers, and a long scan takes 1.75 times as long on an H200.
void main() {
#if ONE_GROUP
    for (uint tile = 0u; tile < tiles(); ++tile) {
        if (tile != 0u)
            barrier();    // before shared memory is written again
#else
    {
        uint tile = take_tile();
        if (tile >= tiles())
            return;
#endif
        bool whole = is_whole(tile);
        T x[VECTORS][WIDTH];
        read_tile(tile, whole, x);

        uint open[VECTORS];
        Sum carry = Sum(IDENTITY, false);
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
            scan_row(x[k], heads_of(vector_of(tile, k)), carry, open[k]);
        put_part(0u, carry);
        Known own = Known(PRESENT, IDENTITY);
        if (gl_SubgroupID == 0u) {
            own = scan_parts(0u);
            if (subgroupElect())
                publish(tile, own);
        }
        T prefix = find_before(tile, own);

        Sum earlier = get_sum(gl_SubgroupID);
        T before = earlier.headed ? earlier.value : COMBINE(prefix, earlier.value);
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
            finish_vector(vector_of(tile, k), whole, x[k], open[k], before);
    }
}

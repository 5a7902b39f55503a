#version 460
// Stable compaction in one pass over memory: decoupled look-back, with subgroup operations.
// values: count elements. mask: a byte for each, where the macros say so. kept: the kept elements or their
// indices. total: how many. look_back: zeros before. COUNT: only total, zero before; PARTITION reads it.
//
// Each subgroup has a stretch of its tile, which it reads in vectors, neighbouring lanes neighbouring
// vectors. Kept elements go to their places among those of the tile in shared memory, while the first
// subgroup looks back, and from there to memory in one piece.
//
// BALLOT: 1 ranks the kept elements by ballots and their bit counts, one for each element of a vector; 0 by a
// scan of counts, those of two vectors in one word.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tile.glsl"

#ifndef BALLOT
#define BALLOT 0
#endif

// A lane's vectors follow each other a subgroup's width apart.
uint place_of(uint k) {
    return (gl_SubgroupID * VECTORS + k) * gl_SubgroupSize + gl_SubgroupInvocationID;
}

#if OUTPUT == COUNT
void main() {
    uint tile = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (tile >= tiles())
        return;
    uint found = subgroupAdd(count_kept(tile));
    if (subgroupElect())
        atomicAdd(total, found);
}
#else

#define CARRIED uint
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0u
#define SUBGROUP_REDUCE subgroupAdd
#define PAYLOAD 30
#include "../include/look_back_subgroup.glsl"

// How many elements each subgroup keeps: of this workgroup's tile, and behind that of one that is computed in
// another's stead.
shared uint parts[2u * SUBGROUPS];

// For each vector how many elements are kept in the subgroup's stretch before it; returns how many are in all
// of it.
uint rank_vectors(uint flags[VECTORS], out uint before[VECTORS]) {
    uint carry = 0u;
#if BALLOT
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        before[k] = carry;
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
            uvec4 ballot = subgroupBallot((flags[k] >> i & 1u) != 0u);
            before[k] += subgroupBallotExclusiveBitCount(ballot);
            carry += subgroupBallotBitCount(ballot);
        }
    }
#else
    [[unroll]] for (uint k = 0u; k < VECTORS; k += 2u) {
        // A subgroup keeps at most 512 elements of a vector a lane, so two counts fit into a word.
        uint counts = bitCount(flags[k]);
        if (k + 1u < VECTORS)
            counts |= bitCount(flags[k + 1u]) << 16;
        uint lower = subgroupExclusiveAdd(counts);
        uint all = subgroupShuffle(lower + counts, gl_SubgroupSize - 1u);
        before[k] = carry + (lower & 0xffffu);
        carry += all & 0xffffu;
        if (k + 1u < VECTORS) {
            before[k + 1u] = carry + (lower >> 16);
            carry += all >> 16;
        }
    }
#endif
    return carry;
}

// The sum of the first `n` parts from `offset` on.
uint sum_parts(uint offset, uint n) {
    uint sum = 0u;
    for (uint i = gl_SubgroupInvocationID; i < n; i += gl_SubgroupSize)
        sum += parts[offset + i];
    return subgroupAdd(sum);
}

void put_part(uint offset, uint found) {
    if (subgroupElect())
        parts[offset + gl_SubgroupID] = found;
    barrier();
}

Known recompute(uint tile) {
    put_part(SUBGROUPS, subgroupAdd(count_kept(tile)));
    return Known(AGGREGATE, sum_parts(SUBGROUPS, gl_NumSubgroups));
}

void main() {
    uint tile = take_tile();
    if (tile >= tiles())
        return;
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint before[VECTORS];
    put_part(0u, rank_vectors(flags, before));
    uint kept_here = sum_parts(0u, gl_NumSubgroups);
    if (gl_SubgroupID == 0u && subgroupElect())
        publish(tile, AGGREGATE, kept_here);
    uint offset = sum_parts(0u, gl_SubgroupID);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        stage_vector(tile, place_of(k) * WIDTH, x[k], flags[k], offset + before[k], kept_here);
    write_staged(tile, find_before(tile, Known(AGGREGATE, kept_here)), kept_here);
}
#endif

#version 460
// Stable compaction in one pass over memory: decoupled look-back, with subgroup operations. values: count
// elements. mask: one byte per element (macro WHERE). kept: the kept elements or their indices. total: their
// number. look_back: initially zeros. COUNT writes only total, initially zero; PARTITION reads it, unless the array
// is one tile.
//
// Each subgroup has a segment of the tile, and reads it in rows with one element per lane. A ballot over a
// row gives the positions of its kept elements, which are adjacent. A subgroup writes them from registers to
// memory.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tile.glsl"

// If elements are only counted, tiles are read in vectors.
uint vector_slot(uint k) {
    return (gl_SubgroupID * VECTORS + k) * gl_SubgroupSize + gl_SubgroupInvocationID;
}

#if OUTPUT == COUNT
void main() {
    uint tile = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (tile >= tiles())
        return;
    uint kept_count = subgroupAdd(count_kept(tile));
    if (subgroupElect())
        atomicAdd(total, kept_count);
}
#else

#define CARRIED uint
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0u
#define SUBGROUP_SCAN subgroupInclusiveAdd
#if ONE_GROUP
#include "../include/one_group.glsl"
#else
#define PAYLOAD 30
#include "../include/look_back_subgroup.glsl"
#endif

// Number of elements that each subgroup keeps: first for this workgroup's tile, then for a tile that is
// computed instead of another workgroup.
shared uint parts[2u * SUBGROUPS];

// The first element of the subgroup's segment of the tile.
uint stretch() {
    return gl_SubgroupID * gl_SubgroupSize * ITEMS;
}

// Index of this lane's element in row k of the subgroup's segment.
uint element_of(uint tile, uint k) {
    return tile * TILE + stretch() + k * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// With RUN_HEADS, get the element before each element: from the lane below; the lowest lane reads it from memory.
void read_elements_before(uint tile, Element x[ITEMS], inout Context contexts[ITEMS]) {
#if WHERE == RUN_HEADS
    uint before_tile = max(tile * TILE + stretch(), 1u) - 1u;
    Element last = Element(0u);
    if (gl_SubgroupInvocationID == 0u && before_tile < count)
        last = Element(value_at[before_tile]);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        Element below = subgroupShuffleUp(x[k], 1u);
        contexts[k] = gl_SubgroupInvocationID == 0u ? last : below;
        last = subgroupShuffle(x[k], gl_SubgroupSize - 1u);
    }
#endif
}

// Read an element of each row; bit k of the result tells whether the element of row k is kept. All loads come
// before the first use of an element.
uint read_rows(uint tile, out Element x[ITEMS]) {
    bool whole = (tile + 1u) * TILE <= count;
    Context contexts[ITEMS];
    if (whole) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            read_one(element_of(tile, k), x[k], contexts[k]);
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            x[k] = Element(0u);
            contexts[k] = Context(0u);
            if (element_of(tile, k) < count)
                read_one(element_of(tile, k), x[k], contexts[k]);
        }
    }
    read_elements_before(tile, x, contexts);
    uint flags = 0u;
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        bool keep = keeps(x[k], contexts[k]);
#if WHERE == RUN_HEADS
        keep = keep || element_of(tile, k) == 0u;
#endif
        if (keep && (whole || element_of(tile, k) < count))
            flags |= 1u << k;
    }
    return flags;
}

// Write the elements of the rows; `at` elements are kept before the segment, and `all` of the array.
void write_rows(uint tile, Element x[ITEMS], uint flags, uint at, uint all) {
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        bool keep = (flags >> k & 1u) != 0u;
        uvec4 ballot = subgroupBallot(keep);
        uint target = at + subgroupBallotExclusiveBitCount(ballot);
        at += subgroupBallotBitCount(ballot);
        uint index = element_of(tile, k);
#if OUTPUT == RUNS
        if (index < count)
            write_of_run(index, x[k], keep, target);
#else
        if (OUTPUT == PARTITION && !keep)
            target = all + index - target;
        if (keep || (OUTPUT == PARTITION && index < count))
#if OUTPUT == INDICES
            kept[target] = index;
#else
            kept[target] = Result(x[k]);
#endif
#endif
    }
}

// The sum of the first `n` parts from `offset` on.
uint sum_parts(uint offset, uint n) {
    uint sum = 0u;
    for (uint i = gl_SubgroupInvocationID; i < n; i += gl_SubgroupSize)
        sum += parts[offset + i];
    return subgroupAdd(sum);
}

void put_part(uint offset, uint kept_count) {
    if (subgroupElect())
        parts[offset + gl_SubgroupID] = kept_count;
    barrier();
}

Known recompute(uint tile) {
    put_part(SUBGROUPS, subgroupAdd(recount_kept(tile)));
    return Known(PRESENT, sum_parts(SUBGROUPS, gl_NumSubgroups));
}

// The tile is handled here and not in a function, because NVIDIA's driver 580 then needs fewer registers (56
// instead of 64), so more workgroups run at once.
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
        Element x[ITEMS];
        uint flags = read_rows(tile, x);
        uint kept_count = subgroupAdd(bitCount(flags));
        put_part(0u, kept_count);
        Known own = Known(PRESENT, IDENTITY);
        if (gl_SubgroupID == 0u) {
            own.value = sum_parts(0u, gl_NumSubgroups);
            if (subgroupElect())
                publish(tile, own);
        }
        uint offset = sum_parts(0u, gl_SubgroupID);    // kept in the tile before the subgroup's segment
        uint before = find_before(tile, own);
#if OUTPUT != PARTITION
        uint all = 0u;
#elif ONE_GROUP
        uint all = sum_parts(0u, gl_NumSubgroups);
#else
        uint all = total;
#endif
        write_rows(tile, x, flags, before + offset, all);
#if OUTPUT != PARTITION || ONE_GROUP
        if (tile == tiles() - 1u && gl_SubgroupID == gl_NumSubgroups - 1u && subgroupElect())
            total = before + offset + kept_count;
#endif
    }
}
#endif

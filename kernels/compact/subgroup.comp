#version 460
// Stable compaction in one pass over memory: decoupled look-back, with subgroup operations.
// values: count elements. mask: a byte for each, where the macros say so. kept: the kept elements or their
// indices. total: how many. look_back: zeros before. COUNT: only total, zero before; PARTITION reads it.
//
// Each subgroup has a stretch of its tile, which it reads in vectors, neighbouring lanes neighbouring vectors. It
// puts the kept elements of its stretch side by side in shared memory, and writes them to memory once it is known how
// many the subgroups and tiles before it keep. So the elements leave the registers before the look-back, and a subgroup
// waits for the others only to learn numbers.
//
// BALLOT: 1 ranks the kept elements by ballots over the bits of each lane's count; 0 by a scan of the counts.
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

// How many elements the lanes before this one keep of a row of vectors, of which this lane keeps `n`; `all`: how many
// the subgroup does.
uint rank_row(uint n, out uint all) {
#if BALLOT
    // n is at most WIDTH: its bits weigh 1, 2 and 4.
    uint before = 0u;
    all = 0u;
    [[unroll]] for (uint bit = 0u; (1u << bit) <= WIDTH; ++bit) {
        uvec4 ballot = subgroupBallot((n >> bit & 1u) != 0u);
        before += subgroupBallotExclusiveBitCount(ballot) << bit;
        all += subgroupBallotBitCount(ballot) << bit;
    }
    return before;
#else
    uint before = subgroupExclusiveAdd(n);
    all = subgroupShuffle(before + n, gl_SubgroupSize - 1u);
    return before;
#endif
}

// The subgroup's stretch of the tile: elements from this one on.
uint stretch() {
    return gl_SubgroupID * gl_SubgroupSize * ITEMS;
}

// Put what is kept of the subgroup's stretch side by side into `staged`, from the stretch's beginning on, and with
// PARTITION the others from its end backwards. Returns how many are kept.
uint stage(uint tile, Element x[VECTORS][WIDTH], uint flags[VECTORS]) {
    uint begin = stretch(), end = begin + gl_SubgroupSize * ITEMS - 1u;
    uint found = 0u;
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        uint place = place_of(k) * WIDTH;    // of the vector in its tile
        uint all;
        uint at = found + rank_row(bitCount(flags[k]), all);
        found += all;
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if OUTPUT == INDICES
            Moved moved = tile * TILE + place + i;
#else
            Moved moved = x[k][i];
#endif
            if ((flags[k] >> i & 1u) != 0u)
                staged[begin + at++] = moved;
            else if (OUTPUT == PARTITION)
                staged[end - (place + i - begin - at)] = moved;
        }
    }
    return found;
}

// Write `n` elements that are staged at `from`, from + step, … to `target` and what follows. Lanes begin at a multiple of
// 32 elements, so that they write whole lines of memory; each reads several elements before it writes the first.
void write_row(uint from, uint step, uint target, uint n) {
    uint skew = target % 32u;
    for (uint first = gl_SubgroupInvocationID; first < n + skew; first += 4u * gl_SubgroupSize) {
        Moved moved[4];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            uint i = first + j * gl_SubgroupSize;
            if (i >= skew && i < n + skew)
                moved[j] = staged[from + (i - skew) * step];
        }
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            uint i = first + j * gl_SubgroupSize;
            if (i >= skew && i < n + skew)
                kept[target - skew + i] = Result(moved[j]);
        }
    }
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
    if (AHEAD != 0u)
        tile = run_ahead(tile, tiles());
    if (tile >= tiles())
        return;
    uint found;
    {
        Element x[VECTORS][WIDTH];
        uint flags[VECTORS];
        read_tile(tile, x, flags);
        found = stage(tile, x, flags);
    }
    put_part(0u, found);
    Known own = Known(AGGREGATE, IDENTITY);
    if (gl_SubgroupID == 0u) {
        own.value = sum_parts(0u, gl_NumSubgroups);
        if (AHEAD == 0u && subgroupElect())
            publish(tile, AGGREGATE, own.value);
    }
    uint offset = sum_parts(0u, gl_SubgroupID);    // kept in the tile before the subgroup's stretch
    uint before = find_before(tile, own, AHEAD == 0u);
    write_row(stretch(), 1u, before + offset, found);
#if OUTPUT == PARTITION
    uint held = min(TILE, count - tile * TILE);    // elements of the tile
    uint begin = min(stretch(), held);
    uint others = min(gl_SubgroupSize * ITEMS, held - begin) - found;
    uint last = stretch() + gl_SubgroupSize * ITEMS - 1u;
    write_row(last, ~0u, total + tile * TILE - before + begin - offset, others);
#else
    if (tile == tiles() - 1u && gl_SubgroupID == gl_NumSubgroups - 1u && subgroupElect())
        total = before + offset + found;
#endif
}
#endif

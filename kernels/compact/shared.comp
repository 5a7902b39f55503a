#version 460
// Stable compaction in one pass over memory: decoupled look-back, without subgroup operations.
// values, mask, kept, total, look_back: as in subgroup.comp.
//
// The workgroup reads its tile in vectors; adjacent invocations read adjacent vectors. The number of kept
// elements of each vector is scanned in shared memory, with two counts per word.
//
// STAGED: 1: the kept elements of the tile are gathered in shared memory and then written to memory in one
// contiguous block. 0: they are written directly from registers to memory; the elements of a vector are
// adjacent.
#include "tile.glsl"

#if OUTPUT == RUNS
#undef STAGED
#define STAGED 0    // the results of an element have several positions
#endif
#ifndef STAGED
#define STAGED 1
#endif

// Two counts share a word: one vector of each invocation cannot have more than 65,535 kept elements in total.
const uint WORDS = (VECTORS + 1u) / 2u;
shared uint ladder[2u * WORKGROUP * WORDS];

uint vector_slot(uint k) {
    return k * WORKGROUP + gl_LocalInvocationIndex;
}

#if OUTPUT == COUNT
void main() {
    uint tile = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (tile >= tiles())
        return;
    uint kept_count = count_kept(tile);
    uint t = gl_LocalInvocationIndex;
    ladder[t] = kept_count;
    barrier();
    for (uint left = WORKGROUP; left > 1u;) {
        uint next = (left + 3u) / 4u;
        if (t < next) {
            [[unroll]] for (uint i = 1u; i < 4u; ++i)
                if (t + i * next < left)
                    kept_count += ladder[t + i * next];
            ladder[t] = kept_count;
        }
        barrier();
        left = next;
    }
    if (t == 0u)
        atomicAdd(total, kept_count);
}
#else

#define CARRIED uint
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0u
#if ONE_GROUP
#include "../include/one_group.glsl"
#else
#define PAYLOAD 30
#include "../include/look_back_shared.glsl"
#endif

// Scan the words of all invocations. `own` becomes the sum before this invocation, `all` the total. Each
// round computes sums over four times as many invocations. It reads one half of the ladder and writes the
// other half, so it needs one barrier.
void scan_words(inout uint own[WORDS], out uint all[WORDS]) {
    uint t = gl_LocalInvocationIndex;
    uint from = 0u;
    [[unroll]] for (uint w = 0u; w < WORDS; ++w)
        ladder[w * WORKGROUP + t] = own[w];
    barrier();
    for (uint distance = 1u; distance < WORKGROUP; distance *= 4u) {
        uint to = WORKGROUP * WORDS - from;
        [[unroll]] for (uint w = 0u; w < WORDS; ++w) {
            [[unroll]] for (uint i = 1u; i < 4u; ++i)
                if (t >= i * distance)
                    own[w] += ladder[from + w * WORKGROUP + t - i * distance];
            ladder[to + w * WORKGROUP + t] = own[w];
        }
        from = to;
        barrier();
    }
    [[unroll]] for (uint w = 0u; w < WORDS; ++w) {
        all[w] = ladder[from + w * WORKGROUP + WORKGROUP - 1u];
        own[w] = t == 0u ? 0u : ladder[from + w * WORKGROUP + t - 1u];
    }
}

// Compute, for each vector, the number of kept elements before it in the tile; return the number in the whole
// tile.
uint rank_vectors(uint flags[VECTORS], out uint before[VECTORS]) {
    uint counts[WORDS];
    [[unroll]] for (uint w = 0u; w < WORDS; ++w)
        counts[w] = bitCount(flags[2u * w]);
    [[unroll]] for (uint w = 0u; 2u * w + 1u < VECTORS; ++w)
        counts[w] |= bitCount(flags[2u * w + 1u]) << 16;
    uint all[WORDS];
    scan_words(counts, all);
    uint carry = 0u;
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        uint shift = 16u * (k % 2u);
        before[k] = carry + (counts[k / 2u] >> shift & 0xffffu);
        carry += all[k / 2u] >> shift & 0xffffu;
    }
    return carry;
}

#if STAGED
shared Moved staged[TILE];

// Store the elements of a vector at their new positions in the tile: the kept elements first, and with
// PARTITION the others after all `kept_here` kept elements. `place` is the index of the vector's first
// element in the tile. `before` elements are kept in the tile before this vector.
void stage_vector(uint tile, uint position, Element x[WIDTH], uint flags, uint before, uint kept_here) {
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if OUTPUT == INDICES
        Moved moved = tile * TILE + position + i;
#else
        Moved moved = x[i];
#endif
        if ((flags >> i & 1u) != 0u) {
            staged[before] = moved;
            ++before;
        } else if (OUTPUT == PARTITION) {
            staged[kept_here + position + i - before] = moved;
        }
    }
}

// Write `n` staged elements, from `from` on, to `target` and the following elements. The invocations begin at
// a multiple of 32 elements, so that a subgroup writes whole lines of memory. Each invocation reads several
// elements from shared memory before it writes the first one.
void write_run(uint from, uint target, uint n) {
    uint skew = target % 32u;
    for (uint first = gl_LocalInvocationIndex; first < n + skew; first += 4u * WORKGROUP) {
        Moved moved[4];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            uint i = first + j * WORKGROUP;
            if (i >= skew && i < n + skew)
                moved[j] = staged[from + i - skew];
        }
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            uint i = first + j * WORKGROUP;
            if (i >= skew && i < n + skew)
                kept[target - skew + i] = Result(moved[j]);
        }
    }
}

// Write the staged elements, after a barrier. `before` elements are kept before this tile, and `all` of the array.
void write_staged(uint tile, uint before, uint kept_here, uint all) {
    write_run(0u, before, kept_here);
#if OUTPUT == PARTITION
    uint others = min(TILE, count - tile * TILE) - kept_here;
    write_run(kept_here, all + (tile * TILE - before), others);
#endif
}
#else
// Write the elements of a vector; `before` are kept before it, and `all` of the array. `position`: the index of
// its first element.
void write_vector(uint position, Element x[WIDTH], uint flags, uint before, uint all) {
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
        bool keep = (flags >> i & 1u) != 0u;
        uint index = position + i;
#if OUTPUT == RUNS
        if (index < count)
            write_of_run(index, x[i], keep, before);
#else
        uint target = before;
        if (OUTPUT == PARTITION && !keep)
            target = all + index - before;
        if (keep || (OUTPUT == PARTITION && index < count))
#if OUTPUT == INDICES
            kept[target] = index;
#else
            kept[target] = Result(x[i]);
#endif
#endif
        if (keep)
            ++before;
    }
}
#endif

shared uint recounted;

Known recompute(uint tile) {
    barrier();    // the sum of an earlier tile has been read
    if (gl_LocalInvocationIndex == 0u)
        recounted = 0u;
    barrier();
    atomicAdd(recounted, recount_kept(tile));
    barrier();
    return Known(PRESENT, recounted);
}

void compact_tile(uint tile) {
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint before[VECTORS];
    uint kept_here = rank_vectors(flags, before);
    if (gl_LocalInvocationIndex == 0u)
        publish(tile, Known(PRESENT, kept_here));
#if STAGED
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        stage_vector(tile, vector_slot(k) * WIDTH, x[k], flags[k], before[k], kept_here);
#endif
    uint prefix = find_before(tile, Known(PRESENT, kept_here));
#if OUTPUT == PARTITION && !ONE_GROUP
    uint all = total;
#else
    uint all = kept_here;
#endif
#if STAGED
    write_staged(tile, prefix, kept_here, all);
#else
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        write_vector(vector_of(tile, k) * WIDTH, x[k], flags[k], prefix + before[k], all);
#endif
#if OUTPUT != PARTITION || ONE_GROUP
    if (tile == tiles() - 1u && gl_LocalInvocationIndex == 0u)
        total = prefix + kept_here;
#endif
}

void main() {
#if ONE_GROUP
    for (uint tile = 0u; tile < tiles(); ++tile) {
        if (tile != 0u)
            barrier();    // before shared memory is written again
        compact_tile(tile);
    }
#else
    uint tile = take_tile();
    if (tile < tiles())
        compact_tile(tile);
#endif
}
#endif

#version 460
// Stable compaction in one pass over memory: decoupled look-back, without subgroup operations.
// values, mask, kept, total, look_back: as in subgroup.comp.
//
// The workgroup reads its tile in vectors, neighbouring invocations neighbouring vectors. How many elements
// each invocation keeps of each of its vectors is scanned in shared memory, two counts in a word; then the
// elements go to their places among those of the tile in shared memory, and from there to memory in one
// piece.
#include "tile.glsl"

// Counts go two and two into words: no more than 65,535 elements can be kept of one vector of each
// invocation.
const uint WORDS = (VECTORS + 1u) / 2u;
shared uint ladder[2u * WORKGROUP * WORDS];

uint place_of(uint k) {
    return k * WORKGROUP + gl_LocalInvocationIndex;
}

#if OUTPUT == COUNT
void main() {
    uint tile = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (tile >= tiles())
        return;
    uint found = count_kept(tile);
    uint t = gl_LocalInvocationIndex;
    ladder[t] = found;
    barrier();
    for (uint left = WORKGROUP; left > 1u;) {
        uint next = (left + 3u) / 4u;
        if (t < next) {
            [[unroll]] for (uint i = 1u; i < 4u; ++i)
                if (t + i * next < left)
                    found += ladder[t + i * next];
            ladder[t] = found;
        }
        barrier();
        left = next;
    }
    if (t == 0u)
        atomicAdd(total, found);
}
#else

#define CARRIED uint
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0u
#define PAYLOAD 30
#include "../include/look_back_shared.glsl"

// Scan the words of all invocations. `own` becomes what is before this invocation; `all`: the sums. Each
// round makes sums of four times as many invocations, reading one half of the ladder and writing the other,
// so it needs one barrier.
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

// For each vector how many elements are kept in the tile before it; returns how many are in all of it.
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

Known recompute(uint tile) {
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint before[VECTORS];
    barrier();    // the ladder may still be read
    return Known(AGGREGATE, rank_vectors(flags, before));
}

void main() {
    uint tile = take_tile();
    if (tile >= tiles())
        return;
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint before[VECTORS];
    uint kept_here = rank_vectors(flags, before);
    if (gl_LocalInvocationIndex == 0u)
        publish(tile, AGGREGATE, kept_here);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        stage_vector(tile, place_of(k) * WIDTH, x[k], flags[k], before[k], kept_here);
    write_staged(tile, find_before(tile, Known(AGGREGATE, kept_here)), kept_here);
}
#endif

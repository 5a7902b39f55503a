#version 460
// Scan in one pass over memory: decoupled look-back, without subgroup operations.
// values: count elements. scanned: the results. look_back: zeros before, if there are several tiles. heads: see
// tile.glsl.
//
// The workgroup reads its tile in vectors; adjacent invocations read adjacent vectors, and each invocation
// scans its vectors. Only the sums of vectors go through shared memory. They are transposed there, so each
// invocation gets the sums of consecutive vectors and adds them; then the workgroup scans these sums.
#include "operation.glsl"

#define CARRIED T
#define CARRIED_BITS T_BITS
#include "tile.glsl"
#if SEGMENTS != NONE
#define HEADS 1
#endif
#if ONE_GROUP
#include "../include/one_group.glsl"
#else
#include "../include/look_back_shared.glsl"
#endif

// One word of padding after every 32 words, so that invocations that read VECTORS words each use different
// banks.
#define PADDED(slot) ((slot) + (slot) / 32u)
const uint SUMS = WORKGROUP * VECTORS;
shared T sums[SUMS + SUMS / 32u];        // sums of the vectors, then their prefixes in the tile
shared T ladder[2u * WORKGROUP];
#if SEGMENTS != NONE
shared bool headed[SUMS + SUMS / 32u];
shared bool ladder_headed[2u * WORKGROUP];
#endif

// A value to scan: the sum since the last head, and whether there was a head.
struct Sum {
    T value;
    bool headed;
};

Sum add(Sum a, Sum b) {
    return Sum(SEGMENTS != NONE && b.headed ? b.value : COMBINE(a.value, b.value), a.headed || b.headed);
}

uint vector_slot(uint k) {
    return k * WORKGROUP + gl_LocalInvocationIndex;
}

void put_sum(uint slot, Sum sum) {
    sums[PADDED(slot)] = sum.value;
#if SEGMENTS != NONE
    headed[PADDED(slot)] = sum.headed;
#endif
}

Sum get_sum(uint slot) {
#if SEGMENTS != NONE
    return Sum(sums[PADDED(slot)], headed[PADDED(slot)]);
#else
    return Sum(sums[PADDED(slot)], false);
#endif
}

void put_step(uint slot, Sum sum) {
    ladder[slot] = sum.value;
#if SEGMENTS != NONE
    ladder_headed[slot] = sum.headed;
#endif
}

Sum get_step(uint slot) {
#if SEGMENTS != NONE
    return Sum(ladder[slot], ladder_headed[slot]);
#else
    return Sum(ladder[slot], false);
#endif
}

// The combination of all earlier invocations; `all`: that of the whole workgroup. Each round computes sums
// over four times as many invocations. It reads one half of the ladder and writes the other half, so it needs
// one barrier.
Sum scan_invocations(Sum own, out Sum all) {
    uint t = gl_LocalInvocationIndex;
    uint from = 0u;
    put_step(t, own);
    barrier();
    for (uint distance = 1u; distance < WORKGROUP; distance *= 4u) {
        [[unroll]] for (uint i = 1u; i < 4u; ++i)
            if (t >= i * distance)
                own = add(get_step(from + t - i * distance), own);
        from = WORKGROUP - from;
        put_step(from + t, own);
        barrier();
    }
    all = get_step(from + WORKGROUP - 1u);
    Sum before = Sum(IDENTITY, false);
    if (t != 0u)
        before = get_step(from + t - 1u);
    return before;
}

// Replace the sum of each vector of a tile by its prefix in the tile; return the sum of the tile. Begins and
// ends with a barrier.
Known scan_sums() {
    barrier();
    uint first = gl_LocalInvocationIndex * VECTORS;
    Sum own = Sum(IDENTITY, false);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        own = add(own, get_sum(first + k));
    Sum all;
    Sum before = scan_invocations(own, all);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        Sum sum = get_sum(first + k);
        put_sum(first + k, before);
        before = add(before, sum);
    }
    barrier();
    return Known(all.headed ? HEADED : PRESENT, all.value);
}

// Recompute the tile of another workgroup, with the same additions and so the same bits.
Known recompute(uint tile) {
    bool whole = is_whole(tile);
    for (uint k = 0u; k < VECTORS; ++k) {
        uint vector = vector_of(tile, k);
        T x[WIDTH];
        read_vector(vector, whole, x);
        uint head_bits = heads_of(vector);
        uint open;
        put_sum(vector_slot(k), Sum(scan_vector(x, head_bits, open), head_bits != 0u));
    }
    return scan_sums();
}

void scan_tile(uint tile) {
    bool whole = is_whole(tile);
    T x[VECTORS][WIDTH];
    read_tile(tile, whole, x);

    uint open[VECTORS];
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        uint head_bits = heads_of(vector_of(tile, k));
        put_sum(vector_slot(k), Sum(scan_vector(x[k], head_bits, open[k]), head_bits != 0u));
    }
    Known own = scan_sums();
    if (gl_LocalInvocationIndex == 0u)
        publish(tile, own);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        Sum before = get_sum(vector_slot(k));
        settle_vector(x[k], open[k], before.value, !before.headed);
    }
    T prefix = find_before(tile, own);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        finish_vector(vector_of(tile, k), whole, x[k], open[k], prefix);
}

void main() {
#if ONE_GROUP
    for (uint tile = 0u; tile < tiles(); ++tile) {
        if (tile != 0u)
            barrier();    // before shared memory is written again
        scan_tile(tile);
    }
#else
    uint tile = take_tile();
    if (tile < tiles())
        scan_tile(tile);
#endif
}

#version 460
// Scan in one pass over memory: decoupled look-back, without subgroup operations.
// values: count elements. scanned: the results. look_back: zeros before. heads: see tile.glsl.
//
// The workgroup reads its tile in vectors, neighbouring invocations neighbouring vectors, and each invocation
// scans each of its vectors by itself. Only what the vectors come to goes through shared memory: turned round
// there, so that an invocation gets those of vectors that follow each other, sums them, and the workgroup
// scans these sums.
#include "operation.glsl"

#define CARRIED T
#define CARRIED_BITS T_BITS
#include "tile.glsl"
#if SEGMENTS != NONE
#define HEADS 1
#endif
#include "../include/look_back_shared.glsl"

// A place is left free after every 32, so that invocations which read VECTORS places each find them in
// different banks.
#define PADDED(place) ((place) + (place) / 32u)
const uint SUMS = WORKGROUP * VECTORS;
shared T sums[SUMS + SUMS / 32u];        // what the vectors come to, then what comes before them in the tile
shared T ladder[2u * WORKGROUP];
#if SEGMENTS != NONE
shared bool headed[SUMS + SUMS / 32u];
shared bool ladder_headed[2u * WORKGROUP];
#endif

// Something to be scanned: a sum since the last head, and whether there was one.
struct Sum {
    T value;
    bool headed;
};

Sum add(Sum a, Sum b) {
    return Sum(SEGMENTS != NONE && b.headed ? b.value : COMBINE(a.value, b.value), a.headed || b.headed);
}

uint place_of(uint k) {
    return k * WORKGROUP + gl_LocalInvocationIndex;
}

void put_sum(uint place, Sum sum) {
    sums[PADDED(place)] = sum.value;
#if SEGMENTS != NONE
    headed[PADDED(place)] = sum.headed;
#endif
}

Sum get_sum(uint place) {
#if SEGMENTS != NONE
    return Sum(sums[PADDED(place)], headed[PADDED(place)]);
#else
    return Sum(sums[PADDED(place)], false);
#endif
}

void put_step(uint place, Sum sum) {
    ladder[place] = sum.value;
#if SEGMENTS != NONE
    ladder_headed[place] = sum.headed;
#endif
}

Sum get_step(uint place) {
#if SEGMENTS != NONE
    return Sum(ladder[place], ladder_headed[place]);
#else
    return Sum(ladder[place], false);
#endif
}

// What the invocations before this one come to; `all`: what the workgroup does. Each round makes sums of four
// times as many invocations, reading one half of the ladder and writing the other, so it needs one barrier.
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

// Replace what each vector of a tile comes to by what comes before it in the tile; returns what the tile
// comes to. Begins and ends with a barrier.
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

// A tile in its workgroup's stead: the same additions, so the same bits.
Known recompute(uint tile) {
    bool whole = is_whole(tile);
    for (uint k = 0u; k < VECTORS; ++k) {
        uint vector = vector_of(tile, k);
        T x[WIDTH];
        read_vector(vector, whole, x);
        uint head_bits = heads_of(vector);
        uint open;
        put_sum(place_of(k), Sum(scan_vector(x, head_bits, open), head_bits != 0u));
    }
    return scan_sums();
}

void main() {
    uint tile = take_tile();
    if (tile >= tiles())
        return;
    bool whole = is_whole(tile);
    T x[VECTORS][WIDTH];
    read_tile(tile, whole, x);

    uint open[VECTORS];
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        uint head_bits = heads_of(vector_of(tile, k));
        put_sum(place_of(k), Sum(scan_vector(x[k], head_bits, open[k]), head_bits != 0u));
    }
    Known own = scan_sums();
    if (gl_LocalInvocationIndex == 0u)
        publish(tile, own);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        Sum before = get_sum(place_of(k));
        settle_vector(x[k], open[k], before.value, !before.headed);
    }
    T prefix = find_before(tile, own);
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        finish_vector(vector_of(tile, k), whole, x[k], open[k], prefix);
}

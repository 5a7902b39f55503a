#version 460
// Counts of each bin, without subgroup operations. Binnings and bindings: histogram.glsl.
//
// Bins that fit into shared memory are counted there, in several copies (table.glsl). With IN_MEMORY 1 bins
// are counted in device memory, and shared memory caches the counts of a few bins. Each slot belongs to the
// first bin that uses it, so frequent bins (all keys equal, two alternating keys, sorted keys) rarely need
// atomics in device memory.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "histogram.glsl"
#include "table.glsl"

// Whether an invocation first tests if all elements of its vector are in one bin, and then counts them at
// once.
layout(constant_id = 13) const bool RUNS = false;
// Slots for bins in memory, a power of two.
layout(constant_id = 14) const uint SLOTS = 1024u;

#if IN_MEMORY
shared uint owner[SLOTS];
shared uint tally[SLOTS];

void begin() {
    for (uint i = gl_LocalInvocationIndex; i < SLOTS; i += WORKGROUP) {
        owner[i] = DROPPED;
        tally[i] = 0u;
    }
    barrier();
}

void finish() {
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < SLOTS; i += WORKGROUP)
        if (tally[i] != 0u)
            atomicAdd(counts[owner[i]], tally[i]);
}

void add(uint bin, uint n) {
    uint slot = bin % SLOTS;
    uint before = atomicCompSwap(owner[slot], DROPPED, bin);
    if (before == DROPPED || before == bin)
        atomicAdd(tally[slot], n);
    else
        atomicAdd(counts[bin], n);
}
#else
void begin() {
    table_clear();
}

void finish() {
    table_merge();
}

void add(uint bin, uint n) {
    atomicAdd(table[table_index(bin, gl_LocalInvocationIndex % COPIES)], n);
}
#endif

void count_one(uint element_bin) {
    if (element_bin != DROPPED)
        add(element_bin, 1u);
}

void count_vector(uint element_bin[PER]) {
    bool same = RUNS;
    [[unroll]] for (uint e = 1u; e < PER; ++e)
        same = same && element_bin[e] == element_bin[0];
    if (same) {
        if (element_bin[0] != DROPPED)
            add(element_bin[0], PER);
        return;
    }
    [[unroll]] for (uint e = 0u; e < PER; ++e)
        count_one(element_bin[e]);
}

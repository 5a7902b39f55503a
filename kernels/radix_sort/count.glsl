// Common part of both histogram kernels: counts of keys by digit, for the digits of all passes, in one pass
// over memory.
//
// Keys: the keys, count of them; Quads: the same memory, four words at a time; Work: see work.glsl.

#include "keys.glsl"

layout(push_constant) uniform Push {
    uint count;     // keys
} push;

layout(std430, binding = 0) readonly buffer Keys { KEY keys[]; };
layout(std430, binding = 1) readonly buffer Quads { uvec4 quads[]; };
#define WORK_BINDING 2
#include "work.glsl"

layout(constant_id = 11) const uint COPIES = 1u;    // of the counts in a workgroup: fewer meet at a word

const uint BINS = PASSES * RADIX;
const uint TILE = WORKGROUP * ITEMS;
const uint IN_QUAD = 4u / KEY_WORDS;                // keys
const uint QUADS = ITEMS / IN_QUAD;                 // of an invocation; ITEMS is a multiple of four

shared uint bin[COPIES * BINS];

void clear_bins() {
    for (uint b = gl_LocalInvocationIndex; b < COPIES * BINS; b += WORKGROUP)
        bin[b] = 0u;
    barrier();
}

// Adds the workgroup's counts to those of all.
void flush_bins() {
    barrier();
    for (uint b = gl_LocalInvocationIndex; b < BINS; b += WORKGROUP) {
        uint sum = 0u;
        UNROLLED for (uint c = 0u; c < COPIES; ++c)
            sum += bin[c * BINS + b];
        if (sum > 0u)
            atomicAdd(work.base[b], sum);
    }
}

// Counts the keys of a tile that is not full, one by one.
void count_partial_tile(uint begin) {
    for (uint i = gl_LocalInvocationIndex; begin + i < push.count && i < TILE; i += WORKGROUP) {
        KEY order = ordered(keys[begin + i]);
        UNROLLED for (uint p = 0u; p < PASSES; ++p)
            atomicAdd(bin[p * RADIX + digit_of(order, p * RADIX_BITS)], 1u);
    }
}

// The invocation's keys of a full tile, in their order's numbers. Which keys an invocation counts does not
// matter.
void load_ordered(uint begin, out KEY order[ITEMS]) {
    uint first = begin / IN_QUAD + gl_LocalInvocationIndex;
    UNROLLED for (uint q = 0u; q < QUADS; ++q) {
        uvec4 quad = quads[first + q * WORKGROUP];
#if KEY_WORDS == 1
        UNROLLED for (uint i = 0u; i < 4u; ++i)
            order[q * 4u + i] = ordered(quad[i]);
#else
        order[q * 2u] = ordered(quad.xy);
        order[q * 2u + 1u] = ordered(quad.zw);
#endif
    }
}

// The bits in which keys differ, of the invocation's own.
KEY differing(KEY order[ITEMS], out KEY all, out KEY any) {
    all = order[0];
    any = order[0];
    UNROLLED for (uint i = 1u; i < ITEMS; ++i) {
        all &= order[i];
        any |= order[i];
    }
    return all ^ any;
}

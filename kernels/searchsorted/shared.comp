// Positions of values in a sorted array, with splitters in shared memory.
//
// Bindings: 0 the sorted array; 1 the values; 2 the position of each value.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#include "search.glsl"

layout(constant_id = 10) const uint SPLITTERS = 1024u;

shared Key splitters[SPLITTERS];

uint most_splitters() { return SPLITTERS; }

void read_splitters(uint step, uint valid) {
    for (uint i = gl_LocalInvocationIndex; i < valid; i += WORKGROUP)
        splitters[i] = sorted_key(splitter_index(i, step));
    barrier();
}

uint splitters_before(Key value, uint valid) {
    uint found = 0u;
    for (uint skip = 1u << findMSB(SPLITTERS); skip > 0u; skip /= 2u)
        if (found + skip <= valid && before(splitters[found + skip - 1u], value))
            found += skip;
    return found;
}

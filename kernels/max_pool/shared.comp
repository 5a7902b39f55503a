#version 460
// 4 x 4 max pooling through shared memory: each invocation computes maxima of single rows, and then combines
// the four rows of whole windows. Bindings: pool.glsl. The workgroup's size is a multiple of 4.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "pool.glsl"

// Row r of window w of item j: (4 j + r) * windows + w. Neighbours write, and read, neighbouring words.
shared Key part[ITEMS * WORKGROUP];

void main() {
    uint across = WORKGROUP / 4u;
    uint tile = ITEMS * across;
    uint row = gl_LocalInvocationIndex / across;
    uint mine = gl_LocalInvocationIndex % across;
    for (uint first = gl_WorkGroupID.x * tile; first < count; first += gl_NumWorkGroups.x * tile) {
        Key greatest[ITEMS];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            uint window = first + j * across + mine;
            greatest[j] = window < count ? row_of(corner_of(window), row) : LEAST;
        }
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            part[(4u * j + row) * across + mine] = greatest[j];
        barrier();
        for (uint w = gl_LocalInvocationIndex; w < tile; w += WORKGROUP) {
            uint at = w / across * WORKGROUP + w % across;
            if (first + w < count)
                write_maximum(first + w, later(later(part[at], part[at + across]),
                                               later(part[at + 2u * across], part[at + 3u * across])));
        }
        // No invocation overwrites values that others still read.
        barrier();
    }
}

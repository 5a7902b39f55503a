// Second step of the radix sort: the first position of each digit's keys in the result of each pass, and the
// passes to run. One workgroup, which scans in shared memory without subgroup operations.
#version 460

#include "../include/kernel.glsl"
#include "route.glsl"

shared uint sums[2u * WORKGROUP];

void main() {
    uint place = gl_LocalInvocationIndex;
    for (uint p = place; p < PASSES; p += WORKGROUP)
        same[p] = 0u;
    barrier();
    for (uint p = 0u; p < PASSES; ++p) {
        uint counts[DIGITS];
        uint sum = load_counts(p, place, counts);
        // Each step doubles the number of summed elements. Steps alternate between two halves of memory, so
        // one barrier per step is sufficient.
        uint half_begin = 0u;
        sums[place] = sum;
        barrier();
        for (uint reach = 1u; reach < WORKGROUP; reach *= 2u) {
            uint reached = sums[half_begin + place];
            if (place >= reach)
                reached += sums[half_begin + place - reach];
            half_begin = WORKGROUP - half_begin;
            sums[half_begin + place] = reached;
            barrier();
        }
        store_places(p, place, sums[half_begin + place] - sum, counts);
        barrier();
    }
    if (place == 0u)
        store_routes();
}

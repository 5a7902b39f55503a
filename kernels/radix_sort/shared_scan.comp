// Second step of the radix sort: the first position of each digit's keys in the result of each pass, and the
// passes to run. One workgroup, which scans in shared memory without subgroup operations.
#version 460

#include "../include/kernel.glsl"
#include "route.glsl"

shared uint sums[2u * WORKGROUP];

void main() {
    uint invocation = gl_LocalInvocationIndex;
    for (uint p = invocation; p < PASSES; p += WORKGROUP)
        same[p] = 0u;
    barrier();
    for (uint p = 0u; p < PASSES; ++p) {
        uint counts[DIGITS];
        uint sum = load_counts(p, invocation, counts);
        // Each step doubles the number of summed elements. Steps alternate between two halves of memory, so
        // one barrier per step is sufficient.
        uint half_begin = 0u;
        sums[invocation] = sum;
        barrier();
        for (uint reach = 1u; reach < WORKGROUP; reach *= 2u) {
            uint reached = sums[half_begin + invocation];
            if (invocation >= reach)
                reached += sums[half_begin + invocation - reach];
            half_begin = WORKGROUP - half_begin;
            sums[half_begin + invocation] = reached;
            barrier();
        }
        store_places(p, invocation, sums[half_begin + invocation] - sum, counts);
        barrier();
    }
    if (invocation == 0u)
        store_routes();
}

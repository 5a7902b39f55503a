// The first k elements of each row in an order, by a radix select in shared memory.
//
// Bindings: 0 the elements, row by row; 1 the values and 2 the indices of the taken elements, in the order of
// indices; 3 to 5 are for long rows: counts of digits (initially zeros), states, and tallies of parts.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#include "order.glsl"
#include "select.glsl"

shared uint ladder[2u * WORKGROUP];

uint invocation() {
    return gl_LocalInvocationIndex;
}

// Each round sums over four times as many invocations. It reads one half of the ladder and writes the other
// half, so it needs one barrier.
uint scan(uint own, out uint total) {
    uint t = gl_LocalInvocationIndex, from = 0u, through = own;
    ladder[t] = through;
    barrier();
    for (uint distance = 1u; distance < WORKGROUP; distance *= 4u) {
        uint to = WORKGROUP - from;
        [[unroll]] for (uint i = 1u; i < 4u; ++i)
            if (t >= i * distance)
                through += ladder[from + t - i * distance];
        ladder[to + t] = through;
        from = to;
        barrier();
    }
    total = ladder[from + WORKGROUP - 1u];
    barrier();    // the next scan may write
    return through - own;
}

void count_digit(bool counted, uint digit) {
    if (counted)
        atomicAdd(bins[digit], 1u);
}

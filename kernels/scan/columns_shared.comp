#version 460
// Scan along an axis that is not the last, without subgroup operations: the runs of a column are scanned in
// shared memory.
#include "operation.glsl"

uint invocation() {
    return gl_LocalInvocationIndex;
}

#include "columns.glsl"

// Two halves. Each round reads one half and writes the other half, so it needs one barrier.
shared T ladder[2u * WORKGROUP];
uint half_in_use = 0u;

void put_step(T own) {
    half_in_use = WORKGROUP - half_in_use;
    ladder[half_in_use + invocation()] = own;
    barrier();
}

// Each round computes combinations of four times as many runs.
T scan_in_workgroup(T own, inout T carry) {
    uint t = invocation(), column = t % COLUMNS;
    put_step(own);
    for (uint distance = COLUMNS; distance < WORKGROUP; distance *= 4u) {
        [[unroll]] for (uint i = 1u; i < 4u; ++i)
            if (t >= i * distance)
                own = COMBINE(ladder[half_in_use + t - i * distance], own);
        put_step(own);
    }
    T before = carry;
    if (t >= COLUMNS)
        before = COMBINE(carry, ladder[half_in_use + t - COLUMNS]);
    // The last COLUMNS invocations have the combinations of the columns.
    carry = COMBINE(carry, ladder[half_in_use + WORKGROUP - 1u - (WORKGROUP - 1u - column) % COLUMNS]);
    return before;
}

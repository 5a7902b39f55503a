// Common part of both scan kernels: positions from counts, and the passes that move keys. One workgroup.
//
// Work: see work.glsl.

#include "keys.glsl"

layout(push_constant) uniform Push {
    uint count;     // keys
} push;

#define WORK_BINDING 0
#include "work.glsl"

layout(constant_id = 12) const bool FRESH = false;  // whether the look-back is cleared before each pass
layout(constant_id = 13) const bool SKIP = true;    // whether passes that would move no keys are omitted

const uint DIGITS = (RADIX + WORKGROUP - 1u) / WORKGROUP;   // of an invocation

shared uint same[PASSES];       // whether all keys have the same digit

// The invocation's counts of one pass and their sum.
uint load_counts(uint pass, uint invocation, out uint counts[DIGITS]) {
    uint sum = 0u;
    UNROLLED for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        counts[k] = digit < RADIX ? work.base[pass * RADIX + digit] : 0u;
        if (counts[k] == push.count)
            same[pass] = 1u;
        sum += counts[k];
    }
    return sum;
}

void store_places(uint pass, uint invocation, uint before, uint counts[DIGITS]) {
    UNROLLED for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        if (digit < RADIX)
            work.base[pass * RADIX + digit] = before;
        before += counts[k];
    }
}

// Passes that run alternate between the spare buffer and the result, so that the last one writes the result.
// At least one pass runs, since it copies the input. Called by one invocation.
void store_routes() {
    uint runs = 0u;
    for (uint p = 0u; p < PASSES; ++p)
        runs += SKIP ? 1u - same[p] : 1u;
    bool none = runs == 0u;
    uint left = max(runs, 1u);
    for (uint p = 0u, done = 0u; p < PASSES; ++p) {
        uint route = 0u;
        if (!SKIP || same[p] == 0u || (none && p == PASSES - 1u)) {
            route = ROUTE_RUNS;
            route |= done == 0u ? ROUTE_FIRST : 0u;
            route |= left == 1u ? ROUTE_LAST : 0u;
            route |= (left & 1u) != 0u ? ROUTE_TO_RESULT : 0u;
            route |= !FRESH && (done & 1u) != 0u ? ROUTE_ODD : 0u;
            ++done;
            --left;
        }
        work.pass[p].route = route;
    }
}

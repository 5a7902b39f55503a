// First step of the radix sort, without subgroup operations: counts of keys by digit, for all passes at once.
//
// Each workgroup counts in shared memory, tile after tile, and adds its counts to the total counts at the
// end. If all keys of an invocation have the same digit, as the high digits of small numbers, it counts them
// at once.
#version 460

#include "../include/kernel.glsl"
#include "count.glsl"

void main() {
    clear_bins();
    uint copy = (gl_LocalInvocationIndex * COPIES / WORKGROUP) * BINS;
    for (uint begin = gl_WorkGroupID.x * TILE; begin < push.count; begin += gl_NumWorkGroups.x * TILE) {
        if (push.count - begin < TILE) {
            count_partial_tile(begin);
            break;
        }
        KEY order[ITEMS];
        load_ordered(begin, order);
        KEY all, any;
        KEY differ = differing(order, all, any);
        UNROLLED for (uint p = 0u; p < PASSES; ++p) {
            uint first = copy + p * RADIX, shift = p * RADIX_BITS;
            if (digit_of(differ, shift) == 0u) {
                atomicAdd(bin[first + digit_of(order[0], shift)], ITEMS);
            } else {
                UNROLLED for (uint i = 0u; i < ITEMS; ++i)
                    atomicAdd(bin[first + digit_of(order[i], shift)], 1u);
            }
        }
    }
    flush_bins();
}

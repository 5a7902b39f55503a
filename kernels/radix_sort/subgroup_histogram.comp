// First step of the radix sort: counts of keys by digit, for all passes at once.
//
// Each workgroup counts in shared memory, tile after tile, and adds its counts to the total counts at the
// end. If all keys of a subgroup have the same digit, as the high digits of small numbers, one lane counts
// all of them.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#include "../include/kernel.glsl"
#include "count.glsl"

void main() {
    clear_bins();
    uint copy = (gl_SubgroupID % COPIES) * BINS;
    for (uint begin = gl_WorkGroupID.x * TILE; begin < push.count; begin += gl_NumWorkGroups.x * TILE) {
        if (push.count - begin < TILE) {
            count_partial_tile(begin);
            break;
        }
        KEY order[ITEMS];
        load_ordered(begin, order);
        KEY all, any;
        differing(order, all, any);
        KEY differ = subgroupAnd(all) ^ subgroupOr(any);
        UNROLLED for (uint p = 0u; p < PASSES; ++p) {
            uint first = copy + p * RADIX, shift = p * RADIX_BITS;
            if (digit_of(differ, shift) == 0u) {
                if (subgroupElect())
                    atomicAdd(bin[first + digit_of(order[0], shift)], gl_SubgroupSize * ITEMS);
            } else {
                UNROLLED for (uint i = 0u; i < ITEMS; ++i)
                    atomicAdd(bin[first + digit_of(order[i], shift)], 1u);
            }
        }
    }
    flush_bins();
}

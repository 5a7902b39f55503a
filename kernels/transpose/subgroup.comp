// Transposes a matrix: blocks are transposed in registers and exchanged by shuffles, without shared memory.
//
// matrix: rows × columns. transposed: columns × rows.
//
// The lanes of a subgroup are arranged in rows of `width` and columns of `height` blocks of the matrix. Each
// lane loads ITEMS blocks (a power of two), one below the other, so that a row of lanes loads `width`
// adjacent packets. Without an exchange, the packets of a lane's blocks would be stored one below the other
// too, and only `height` lanes would store adjacent packets. Therefore lanes exchange blocks first: the
// lowest bits of a lane's index in its row are swapped with those of the block index. Each bit needs one
// butterfly step, in which every lane keeps half of its blocks and sends the other half. Afterwards `height`
// × ITEMS lanes store adjacent packets.
//
// A workgroup has WORKGROUP × ITEMS blocks, WIDTH of them in a row, whatever the subgroup size is.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "../include/kernel.glsl"
#include "block.glsl"

// Blocks in a row of a workgroup: a power of two, at most WORKGROUP.
layout(constant_id = 10) const uint WIDTH = 8u;

void main() {
    const uint HEIGHT = WORKGROUP / WIDTH * ITEMS;
    uint regions_across = (blocks_across() + WIDTH - 1u) / WIDTH;
    uint region = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint down = region / regions_across * HEIGHT, across = region % regions_across * WIDTH;
    if (down >= blocks_down())
        return;

    // Subgroups narrower than WIDTH are placed side by side first, then below each other.
    uint width = min(WIDTH, gl_SubgroupSize), height = gl_SubgroupSize / width;
    uint right = gl_SubgroupInvocationID % width, below = gl_SubgroupInvocationID / width;
    uint beside = WIDTH / width;
    down += (gl_SubgroupID / beside * height + below) * ITEMS;
    across += gl_SubgroupID % beside * width;

    PACKET held[ITEMS * SIDE];
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        Block block = transpose_block(load_block(down + i, across + right));
        [[unroll]] for (uint k = 0u; k < SIDE; ++k)
            held[i * SIDE + k] = block.row[k];
    }

    // A lane whose bit is set sends its blocks without that bit, and receives the other lane's blocks in
    // exchange.
    [[unroll]] for (uint bit = 1u; bit < ITEMS; bit *= 2u) {
        if (bit >= width)
            break;
        bool set = (right & bit) != 0u;
        [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
            if ((i & bit) != 0u)
                continue;
            [[unroll]] for (uint k = 0u; k < SIDE; ++k) {
                uint low = i * SIDE + k, high = (i | bit) * SIDE + k;
                PACKET taken = subgroupShuffleXor(set ? held[low] : held[high], bit);
                if (set)
                    held[low] = taken;
                else
                    held[high] = taken;
            }
        }
    }

    uint exchanged = min(ITEMS, width) - 1u; // the exchanged bits
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        uint column = across + ((right & ~exchanged) | (i & exchanged));
        uint row = down + ((i & ~exchanged) | (right & exchanged));
        [[unroll]] for (uint k = 0u; k < SIDE; ++k)
            store_packet(column, row, k, held[i * SIDE + k]);
    }
}

// Transposes a matrix: blocks are transposed in registers and exchanged through shared memory.
//
// matrix: rows × columns. transposed: columns × rows.
//
// A workgroup loads a tile of TILE × TILE blocks with rows of adjacent packets, puts the transposed blocks at
// their positions in the transposed tile, and after a barrier stores rows of adjacent packets of this tile.
//
// In shared memory a row of the transposed tile has TILE packets, and packet `p` of row `r` lies at place p
// XOR (r / SIDE) of its row. Without this, adjacent invocations would write to the same banks, since their
// blocks are SIDE × TILE packets apart. With it, `TILE` adjacent invocations write to, and read from, TILE
// different positions modulo TILE. So there are no bank conflicts, and no memory is needed for padding.
#version 460
#include "../include/kernel.glsl"
#include "block.glsl"

layout(constant_id = 10) const uint TILE = 16u; // blocks in a row and a column of a tile: a power of two

shared PACKET tile[TILE * TILE * SIDE];

void main() {
    uint tiles_across = (blocks_across() + TILE - 1u) / TILE;
    uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint down = number / tiles_across * TILE, across = number % tiles_across * TILE;
    if (down >= blocks_down())
        return; // the whole workgroup

    [[unroll]] for (uint at = gl_LocalInvocationIndex; at < TILE * TILE; at += WORKGROUP) {
        uint i = at / TILE, j = at % TILE;
        Block block = transpose_block(load_block(down + i, across + j));
        [[unroll]] for (uint k = 0u; k < SIDE; ++k)
            tile[(j * SIDE + k) * TILE + (i ^ j)] = block.row[k];
    }
    barrier();
    [[unroll]] for (uint at = gl_LocalInvocationIndex; at < TILE * TILE; at += WORKGROUP) {
        uint i = at / TILE, j = at % TILE;
        [[unroll]] for (uint k = 0u; k < SIDE; ++k)
            store_packet(across + i, down + j, k, tile[(i * SIDE + k) * TILE + (i ^ j)]);
    }
}

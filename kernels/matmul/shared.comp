// Matrix product with tiles in shared memory.
//
// A workgroup computes a tile of the product, in steps of DEPTH along `inner`. In each step it loads DEPTH
// columns of its rows of `a`, and DEPTH rows of its columns of `b`, into shared memory. Every invocation adds
// the products for its ROWS × 4 QUADS elements, which it holds in registers. It does ROWS × 4 QUADS
// multiplications for each ROWS + 4 QUADS numbers that it reads from shared memory.
//
// Steps alternate between two tiles of each matrix. The next tile is loaded into registers before the
// products of the current one, which hides the latency, and then stored where no invocation reads any more.
// One barrier per step is sufficient: after it, all invocations have read the old tile, and see the whole new
// tile.
//
// The tile of `a` is transposed, so that four rows of one column are one vector. Its rows have one vector of
// padding, which avoids bank conflicts of writes. An invocation computes every DOWN-th group of four rows and
// every ACROSS-th group of four columns, so adjacent invocations read adjacent vectors. Every 32 invocations
// are arranged as 8 × 4, which reads fewer different vectors than a row of 32.
#version 460
#include "../include/kernel.glsl"
#include "operands.glsl"

#ifndef ROWS
#define ROWS 4  // rows of the product per invocation: a multiple of four
#endif
#ifndef QUADS
#define QUADS 1 // groups of four columns per invocation
#endif

layout(constant_id = 10) const uint ACROSS = 8u; // invocations in a row: a multiple of 8
layout(constant_id = 11) const uint DEPTH = 8u;  // a multiple of four

const uint DOWN = WORKGROUP / ACROSS;            // invocations in a column: a multiple of four
const uint FOURS = ROWS / 4;
const uint A_ROW = DOWN * FOURS + 1u, B_ROW = ACROSS * QUADS;
const uint A_PIECES = DOWN * ROWS * DEPTH / 4u, B_PIECES = DEPTH * B_ROW;
const uint A_EACH = (A_PIECES + WORKGROUP - 1u) / WORKGROUP, B_EACH = (B_PIECES + WORKGROUP - 1u) / WORKGROUP;

shared SUM4 a_tile[2u * DEPTH * A_ROW];
shared SUM4 b_tile[2u * DEPTH * B_ROW];

SUM4 a_next[A_EACH], b_next[B_EACH];

// Loads this invocation's part of both tiles from `k` on.
void load_tiles(uint first_row, uint first_column, uint k) {
    [[unroll]] for (uint i = 0u; i < A_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < A_PIECES)
            a_next[i] = load_a(first_row + piece / (DEPTH / 4u), k + piece % (DEPTH / 4u) * 4u);
    }
    [[unroll]] for (uint i = 0u; i < B_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < B_PIECES)
            b_next[i] = load_b(k + piece / B_ROW, first_column + piece % B_ROW * 4u);
    }
}

// Stores it in shared memory, in the tiles number `turn`.
void store_tiles(uint turn) {
    [[unroll]] for (uint i = 0u; i < A_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        uint row = piece / (DEPTH / 4u), k = piece % (DEPTH / 4u) * 4u;
        if (piece < A_PIECES)
            [[unroll]] for (uint j = 0u; j < 4u; ++j)
                a_tile[(turn * DEPTH + k + j) * A_ROW + row / 4u][row % 4u] = a_next[i][j];
    }
    [[unroll]] for (uint i = 0u; i < B_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < B_PIECES)
            b_tile[turn * B_PIECES + piece] = b_next[i];
    }
}

void compute_product() {
    uint first_row = gl_WorkGroupID.y * DOWN * ROWS, first_column = gl_WorkGroupID.x * B_ROW * 4u;
    uint patch_number = gl_LocalInvocationIndex / 32u, within = gl_LocalInvocationIndex % 32u;
    uint x = patch_number % (ACROSS / 8u) * 8u + within % 8u;
    uint y = patch_number / (ACROSS / 8u) * 4u + within / 8u;

    SUM4 sums[ROWS * QUADS];
    [[unroll]] for (uint i = 0u; i < ROWS * QUADS; ++i)
        sums[i] = SUM4(0);

    load_tiles(first_row, first_column, 0u);
    store_tiles(0u);
    barrier();
    uint steps = (inner + DEPTH - 1u) / DEPTH;
    for (uint step = 0u; step < steps; ++step) {
        bool more = step + 1u < steps;
        if (more)
            load_tiles(first_row, first_column, (step + 1u) * DEPTH);
        uint k = step % 2u * DEPTH;
        [[unroll]] for (uint i = 0u; i < DEPTH; ++i, ++k) {
            SUM4 right[QUADS];
            [[unroll]] for (uint q = 0u; q < QUADS; ++q)
                right[q] = b_tile[k * B_ROW + q * ACROSS + x];
            [[unroll]] for (uint f = 0u; f < FOURS; ++f) {
                SUM4 left = a_tile[k * A_ROW + f * DOWN + y];
                [[unroll]] for (uint j = 0u; j < 4u; ++j)
                    [[unroll]] for (uint q = 0u; q < QUADS; ++q)
                        sums[(f * 4u + j) * QUADS + q] += left[j] * right[q];
            }
        }
        if (more)
            store_tiles((step + 1u) % 2u);
        barrier();
    }

    [[unroll]] for (uint i = 0u; i < ROWS; ++i)
        [[unroll]] for (uint q = 0u; q < QUADS; ++q)
            store(first_row + (i / 4u * DOWN + y) * 4u + i % 4u, first_column + (q * ACROSS + x) * 4u,
                  sums[i * QUADS + q]);
}

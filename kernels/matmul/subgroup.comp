// Matrix product with shuffles, by which lanes exchange elements of `a`, without shared memory or barriers.
//
// Each lane computes ROWS × 4 QUADS elements of the product in registers. The lanes of a subgroup are
// arranged in rows of `width`. The lanes of one row compute the same ROWS rows of the product, and need the
// same elements of `a`. Each of them loads four columns of these rows, together 4 × `width` columns. Then
// each lane in turn sends its elements to its row: one shuffle for 4 QUADS multiplications. Elements of `b`
// are used by only one lane of a row, which loads them; a row loads `width` adjacent vectors at a time.
//
// A workgroup has ACROSS × (WORKGROUP / ACROSS) lanes over the product, whatever the subgroup size is.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "../include/kernel.glsl"
#include "operands.glsl"
#if T_BITS == 64 && !T_FLOAT
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

#ifndef ROWS
#define ROWS 4  // rows of the product per lane
#endif
#ifndef QUADS
#define QUADS 1 // groups of four columns per lane
#endif

layout(constant_id = 10) const uint ACROSS = 8u; // lanes in a row: a power of two, at most WORKGROUP

void compute_product() {
    // Subgroups narrower than ACROSS are placed side by side first, then below each other.
    uint width = min(ACROSS, gl_SubgroupSize), height = gl_SubgroupSize / width, beside = ACROSS / width;
    uint right = gl_SubgroupInvocationID % width, below = gl_SubgroupInvocationID / width;
    uint x = gl_SubgroupID % beside * width + right, y = gl_SubgroupID / beside * height + below;
    uint first_row = (gl_WorkGroupID.y * (WORKGROUP / ACROSS) + y) * ROWS;
    uint first_column = (gl_WorkGroupID.x * ACROSS * QUADS + x) * 4u;

    SUM4 sums[ROWS * QUADS];
    [[unroll]] for (uint i = 0u; i < ROWS * QUADS; ++i)
        sums[i] = SUM4(0);

    for (uint k = 0u; k < inner; k += 4u * width) {
        SUM4 mine[ROWS];
        [[unroll]] for (uint i = 0u; i < ROWS; ++i)
            mine[i] = load_a(first_row + i, k + right * 4u);
        uint turns = min(width, (inner - k + 3u) / 4u);
        for (uint turn = 0u; turn < turns; ++turn) {
            SUM4 factors[4u * QUADS];
            [[unroll]] for (uint j = 0u; j < 4u; ++j)
                [[unroll]] for (uint q = 0u; q < QUADS; ++q)
                    factors[j * QUADS + q] = load_b(k + turn * 4u + j, first_column + q * ACROSS * 4u);
            [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
                SUM4 left = subgroupShuffle(mine[i], below * width + turn);
                [[unroll]] for (uint j = 0u; j < 4u; ++j)
                    [[unroll]] for (uint q = 0u; q < QUADS; ++q)
                        sums[i * QUADS + q] += left[j] * factors[j * QUADS + q];
            }
        }
    }

    [[unroll]] for (uint i = 0u; i < ROWS; ++i)
        [[unroll]] for (uint q = 0u; q < QUADS; ++q)
            store(first_row + i, first_column + q * ACROSS * 4u, sums[i * QUADS + q]);
}

// Matrix product with cooperative matrices (VK_KHR_cooperative_matrix): float16 × float16, summed in float32.
//
// a: rows × inner. b: inner × columns. product: rows × columns, of RESULT. There may be stacks of them
// (batches.glsl).
//
// The device chooses how a cooperative matrix is distributed over the lanes of a subgroup. It has one of the
// shapes that the device lists: a matrix of the product has MATRIX_ROWS × MATRIX_COLUMNS elements, and
// MATRIX_DEPTH products are added at once. A workgroup computes a tile of the product, which is divided into
// parts of DOWN × ALONG such matrices; each subgroup computes one part at a time. (There are as many parts as
// subgroups, but nothing depends on it.) The workgroup advances along `inner` in steps of DEPTH, with tiles of
// `a` and `b` in two halves of shared memory as in shared.comp. Rows of the tiles have 16 bytes of padding, so
// that they begin at different banks.
//
// Parts that extend beyond the product's edge, and rows that do not begin at a multiple of 16 bytes, are stored
// through shared memory, element by element.
//
// VECTOR: 1 where `inner` and `columns` are multiples of eight, so that eight elements are loaded at once.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#pragma use_vulkan_memory_model
#include "../include/kernel.glsl"

#ifndef RESULT
#define RESULT float
#define RESULT_BITS 32
#endif
#ifndef VECTOR
#define VECTOR 0
#endif
#ifndef DOWN
#define DOWN 4  // cooperative matrices of a part, below each other
#endif
#ifndef ALONG
#define ALONG 2 // and beside each other
#endif

layout(constant_id = 10) const uint MATRIX_ROWS = 16u;
layout(constant_id = 11) const uint MATRIX_COLUMNS = 16u;
layout(constant_id = 12) const uint MATRIX_DEPTH = 16u;
layout(constant_id = 13) const uint PARTS_DOWN = 2u;
layout(constant_id = 14) const uint PARTS_ALONG = 2u;
layout(constant_id = 15) const uint DEPTH = 32u; // a multiple of MATRIX_DEPTH and of eight

const uint TILE_ROWS = MATRIX_ROWS * DOWN * PARTS_DOWN, TILE_COLUMNS = MATRIX_COLUMNS * ALONG * PARTS_ALONG;
// In pieces of eight elements, 16 bytes.
const uint A_ROW = DEPTH / 8u, A_PITCH = A_ROW + 1u, A_PIECES = TILE_ROWS * A_ROW;
const uint B_ROW = TILE_COLUMNS / 8u, B_PITCH = B_ROW + 1u, B_PIECES = DEPTH * B_ROW;
const uint A_EACH = (A_PIECES + WORKGROUP - 1u) / WORKGROUP, B_EACH = (B_PIECES + WORKGROUP - 1u) / WORKGROUP;
// A matrix of results, row by row.
const uint PER_PIECE = 128u / RESULT_BITS, RESULT_ROW = MATRIX_COLUMNS / PER_PIECE;

shared uvec4 a_tile[2u * TILE_ROWS * A_PITCH];
shared uvec4 b_tile[2u * DEPTH * B_PITCH];
shared uvec4 edge[SUBGROUPS * MATRIX_ROWS * RESULT_ROW];

#include "batches.glsl"
#if VECTOR
layout(std430, binding = 0) readonly buffer A { uvec4 a[]; };
layout(std430, binding = 1) readonly buffer B { uvec4 b[]; };
#else
layout(std430, binding = 0) readonly buffer A { float16_t a[]; };
layout(std430, binding = 1) readonly buffer B { float16_t b[]; };
#endif
layout(std430, binding = 2) writeonly buffer Product { RESULT product[]; };

uvec4 a_next[A_EACH], b_next[B_EACH];

#if !VECTOR
uvec4 packed(float16_t values[8]) {
    uvec4 result;
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        result[i] = packFloat2x16(f16vec2(values[2u * i], values[2u * i + 1u]));
    return result;
}
#endif

// Eight elements of a row, from a multiple of eight on; zeros behind the end.
uvec4 load_a(uint row, uint k) {
#if VECTOR
    return row < rows && k < inner ? a[(a_base + row * inner + k) / 8u] : uvec4(0u);
#else
    float16_t values[8];
    [[unroll]] for (uint i = 0u; i < 8u; ++i)
        values[i] = row < rows && k + i < inner ? a[a_base + row * inner + k + i] : float16_t(0);
    return packed(values);
#endif
}

uvec4 load_b(uint k, uint column) {
#if VECTOR
    return k < inner && column < columns ? b[(b_base + k * columns + column) / 8u] : uvec4(0u);
#else
    float16_t values[8];
    [[unroll]] for (uint i = 0u; i < 8u; ++i)
        values[i] = k < inner && column + i < columns ? b[b_base + k * columns + column + i] : float16_t(0);
    return packed(values);
#endif
}

void load_tiles(uint first_row, uint first_column, uint k) {
    [[unroll]] for (uint i = 0u; i < A_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < A_PIECES)
            a_next[i] = load_a(first_row + piece / A_ROW, k + piece % A_ROW * 8u);
    }
    [[unroll]] for (uint i = 0u; i < B_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < B_PIECES)
            b_next[i] = load_b(k + piece / B_ROW, first_column + piece % B_ROW * 8u);
    }
}

void store_tiles(uint turn) {
    [[unroll]] for (uint i = 0u; i < A_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < A_PIECES)
            a_tile[(turn * TILE_ROWS + piece / A_ROW) * A_PITCH + piece % A_ROW] = a_next[i];
    }
    [[unroll]] for (uint i = 0u; i < B_EACH; ++i) {
        uint piece = gl_LocalInvocationIndex + i * WORKGROUP;
        if (piece < B_PIECES)
            b_tile[(turn * DEPTH + piece / B_ROW) * B_PITCH + piece % B_ROW] = b_next[i];
    }
}

// One element of this subgroup's results in shared memory, the `i`-th of the matrix.
RESULT edge_element(uint i) {
    uvec4 piece = edge[gl_SubgroupID * MATRIX_ROWS * RESULT_ROW + i / PER_PIECE];
#if RESULT_BITS == 32
    return uintBitsToFloat(piece[i % 4u]);
#else
    return unpackFloat2x16(piece[i % 8u / 2u])[i % 2u];
#endif
}

// One part of the tile; all subgroups go through it together, those that have none (`part` too large) in
// vain.
void compute_part(uint first_row, uint first_column, uint part) {
    uint part_row = part / PARTS_ALONG % PARTS_DOWN * DOWN * MATRIX_ROWS;
    uint part_column = part % PARTS_ALONG * ALONG * MATRIX_COLUMNS;
    coopmat<float, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator> sums[DOWN * ALONG];
    [[unroll]] for (uint i = 0u; i < DOWN * ALONG; ++i)
        sums[i] = coopmat<float, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator>(0.0);

    load_tiles(first_row, first_column, 0u);
    store_tiles(0u);
    barrier();
    uint steps = (inner + DEPTH - 1u) / DEPTH;
    for (uint step = 0u; step < steps; ++step) {
        bool more = step + 1u < steps;
        if (more)
            load_tiles(first_row, first_column, (step + 1u) * DEPTH);
        uint turn = step % 2u;
        [[unroll]] for (uint k = 0u; k < DEPTH; k += MATRIX_DEPTH) {
            coopmat<float16_t, gl_ScopeSubgroup, MATRIX_DEPTH, MATRIX_COLUMNS, gl_MatrixUseB> right[ALONG];
            [[unroll]] for (uint j = 0u; j < ALONG; ++j)
                coopMatLoad(right[j], b_tile,
                            (turn * DEPTH + k) * B_PITCH + (part_column + j * MATRIX_COLUMNS) / 8u, B_PITCH,
                            gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0u; i < DOWN; ++i) {
                coopmat<float16_t, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_DEPTH, gl_MatrixUseA> left;
                coopMatLoad(left, a_tile,
                            (turn * TILE_ROWS + part_row + i * MATRIX_ROWS) * A_PITCH + k / 8u, A_PITCH,
                            gl_CooperativeMatrixLayoutRowMajor);
                [[unroll]] for (uint j = 0u; j < ALONG; ++j)
                    sums[i * ALONG + j] = coopMatMulAdd(left, right[j], sums[i * ALONG + j]);
            }
        }
        if (more)
            store_tiles((step + 1u) % 2u);
        barrier();
    }
    if (part >= PARTS_DOWN * PARTS_ALONG)
        return;

    [[unroll]] for (uint i = 0u; i < DOWN; ++i)
        [[unroll]] for (uint j = 0u; j < ALONG; ++j) {
            uint row = first_row + part_row + i * MATRIX_ROWS;
            uint column = first_column + part_column + j * MATRIX_COLUMNS;
            coopmat<RESULT, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator> result =
                coopmat<RESULT, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator>(
                    sums[i * ALONG + j]);
            if (VECTOR != 0 && row + MATRIX_ROWS <= rows && column + MATRIX_COLUMNS <= columns) {
                coopMatStore(result, product, product_base + row * columns + column, columns,
                             gl_CooperativeMatrixLayoutRowMajor);
                continue;
            }
            coopMatStore(result, edge, gl_SubgroupID * MATRIX_ROWS * RESULT_ROW, RESULT_ROW,
                         gl_CooperativeMatrixLayoutRowMajor);
            subgroupBarrier();
            const uint COUNT = MATRIX_ROWS * MATRIX_COLUMNS;
            for (uint at = gl_SubgroupInvocationID; at < COUNT; at += gl_SubgroupSize) {
                uint y = row + at / MATRIX_COLUMNS, x = column + at % MATRIX_COLUMNS;
                if (y < rows && x < columns)
                    product[product_base + y * columns + x] = edge_element(at);
            }
            subgroupBarrier();
        }
}

void compute_product() {
    uint first_row = gl_WorkGroupID.y * TILE_ROWS, first_column = gl_WorkGroupID.x * TILE_COLUMNS;
    for (uint first = 0u; first < PARTS_DOWN * PARTS_ALONG; first += gl_NumSubgroups)
        compute_part(first_row, first_column, first + gl_SubgroupID);
}

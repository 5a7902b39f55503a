// The matrices of a product, product = a × b, all in row-major order, with loads and stores of four numbers.
//
// a: rows × inner. b: inner × columns. product: rows × columns. There may be stacks of them (batches.glsl).
//
// T, T4: type of the elements of a and b, and of four of them.
// SUM, SUM4: type of the sums. RESULT, RESULT4: type of the product's elements.
// VECTOR: 1 where `inner` and `columns` are multiples of four, so that every row begins with an aligned T4.

#ifndef T4
#define T4 vec4
#endif
#ifndef SUM
#define SUM float
#define SUM4 vec4
#endif
#ifndef RESULT
#define RESULT float
#define RESULT4 vec4
#endif
#ifndef VECTOR
#define VECTOR 0
#endif

#include "batches.glsl"

#if VECTOR
layout(std430, binding = 0) readonly buffer A { T4 a[]; };
layout(std430, binding = 1) readonly buffer B { T4 b[]; };
layout(std430, binding = 2) writeonly buffer Product { RESULT4 product[]; };
#else
layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) writeonly buffer Product { RESULT product[]; };
#endif

// Four elements of a row of `a` from element `k` on, a multiple of four; zeros beyond the end.
SUM4 load_a(uint row, uint k) {
#if VECTOR
    return row < rows && k < inner ? SUM4(a[(a_base + row * inner + k) / 4u]) : SUM4(0);
#else
    SUM4 result = SUM4(0);
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        if (row < rows && k + i < inner)
            result[i] = SUM(a[a_base + row * inner + k + i]);
    return result;
#endif
}

// Four elements of row `k` of `b` from `column` on, a multiple of four; zeros beyond the end.
SUM4 load_b(uint k, uint column) {
#if VECTOR
    return k < inner && column < columns ? SUM4(b[(b_base + k * columns + column) / 4u]) : SUM4(0);
#else
    SUM4 result = SUM4(0);
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        if (k < inner && column + i < columns)
            result[i] = SUM(b[b_base + k * columns + column + i]);
    return result;
#endif
}

// Stores four elements of a row of the product; elements past the end of the row are ignored.
void store(uint row, uint column, SUM4 values) {
#if VECTOR
    if (row < rows && column < columns)
        product[(product_base + row * columns + column) / 4u] = RESULT4(values);
#else
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        if (row < rows && column + i < columns)
            product[product_base + row * columns + column + i] = RESULT(values[i]);
#endif
}

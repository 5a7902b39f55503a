// Reduce an array along an axis that is not the last: each invocation owns one column, or four that follow
// each other, and goes down its rows.
//
// Adjacent invocations read adjacent columns, so every load of a subgroup is contiguous. Invocations do not
// communicate, so the shader needs neither subgroup operations nor shared memory, and has only one version.
// Tall arrays are reduced in parts, whose states finish_*.comp reduces.
//
// The shader treats the array as (slices, rows, columns). If there are few columns, most invocations would
// have no work. Then `columns` is a multiple of the real number of columns, `inner`, so that several rows are
// side by side. The last row may then be shorter; `length` is the number of elements of a slice.
//
// Bindings: 0 the elements; 1 (and 2 with ARG) the states of parts; 3 the results. FINISH is DIRECT, where
// there is one part and `columns` is `inner`, or SECOND.
#version 460
#include "../include/kernel.glsl"
#include "operation.glsl"
#include "results.glsl"

layout(constant_id = 13) const bool WIDE = false;    // four columns each: columns and length are multiples of 4

layout(std430, binding = 0) readonly restrict buffer Values { T values[]; };
layout(std430, binding = 0) readonly restrict buffer Vectors { T4 vectors[]; };

layout(push_constant) uniform Push {
    uint columns;
    uint length;
    uint slices;
#if FINISH != DIRECT
    uint inner;
    uint parts;     // of the rows; each has every `parts`-th row
#endif
};

#if FINISH == DIRECT
#define inner columns
const uint parts = 1u;
#endif

// Reduce every `parts`-th row, beginning with `part`, at one column, or at four. ITEMS rows are loaded before
// the first is used; what lies behind the last row is replaced by that row, and not taken. A place is the
// number of the real row: there are `side` of them side by side, of which this is number `beside`.
#define FOLD(NAME, STATE, NEUTRAL, LOADED, PLACE, SOURCE) \
    STATE NAME(uint first, uint step, uint part, uint rows, PLACE beside) { \
        STATE s = NEUTRAL; \
        uint side = columns / inner; \
        for (uint row = part; row < rows; row += parts * ITEMS) { \
            LOADED loaded[ITEMS]; \
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k) \
                loaded[k] = SOURCE[first + min(row + k * parts, rows - 1u) * step]; \
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k) \
                if (row + k * parts < rows) \
                    take(s, element(loaded[k]), (row + k * parts) * side + beside); \
        } \
        return s; \
    }

FOLD(fold_one, State, identity(), T, uint, values)
FOLD(fold_four, State4, identity4(), T4, uvec4, vectors)

void write(uint i, State s) {
#if FINISH == DIRECT
    write_result(i, s);
#else
    write_partial(i, s);
#endif
}

void main() {
    uint width = WIDE ? columns / 4u : columns, size = WIDE ? length / 4u : length;
    uint jobs = slices * parts * width;
    for (uint job = gl_GlobalInvocationID.x; job < jobs; job += gl_NumWorkGroups.x * WORKGROUP) {
        uint column = job % width, part = job / width % parts, slice = job / width / parts;
        uint first = slice * size + column;
        uint rows = (size - column + width - 1u) / width;
        if (WIDE) {
            State4 s = fold_four(first, width, part, rows, (4u * column + uvec4(0, 1, 2, 3)) / inner);
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                write(4u * job + c, component(s, c));
        } else {
            write(job, fold_one(first, width, part, rows, column / inner));
        }
    }
}

// Reduce an array along an axis that is not the last: each invocation owns one column, or four that follow each
// other, and goes down its rows.
//
// Neighbours read neighbouring columns, so every load of a subgroup is one piece of memory, and nobody has to
// exchange anything: this needs neither subgroup operations nor shared memory, so there is only one of it. Tall
// arrays are reduced in parts, whose states this shader reduces again.
//
// Seen by the shader the array is (slices, rows, columns), and so is the result: (slices, parts, columns).
// Few columns would leave most invocations without work. Then the host gives as columns a multiple of them, so
// that several rows lie side by side, and the last row may be shorter: `length` is what a slice has really.
//
// Bindings: 0 the elements; 3 the results.
#version 460
#include "kernel.glsl"
#include "operation.glsl"
#define FINISH DIRECT
#include "results.glsl"

layout(constant_id = 13) const bool WIDE = false;    // four columns each: columns and length are multiples of 4

layout(std430, binding = 0) readonly restrict buffer Values { T values[]; };
layout(std430, binding = 0) readonly restrict buffer Vectors { T4 vectors[]; };

layout(push_constant) uniform Push {
    uint columns;
    uint length;    // elements of a slice
    uint slices;
    uint parts;     // of the rows
};

#define FOLD(NAME, STATE, NEUTRAL, LOADED, PLACE, SOURCE) \
    STATE NAME(uint first, uint step, uint part, uint rows) { \
        STATE s = NEUTRAL; \
        for (uint row = part; row < rows; row += parts * ITEMS) { \
            LOADED loaded[ITEMS]; \
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k) \
                loaded[k] = SOURCE[first + min(row + k * parts, rows - 1u) * step]; \
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k) \
                if (row + k * parts < rows) \
                    take(s, element(loaded[k]), PLACE(row + k * parts)); \
        } \
        return s; \
    }

// Reduce every `parts`-th row, beginning with `part`, at one column, or at four. ITEMS rows are loaded before
// the first is used; what lies behind the last row is replaced by that row, and not taken.
FOLD(fold_one, State, identity(), T, uint, values)
FOLD(fold_four, State4, identity4(), T4, uvec4, vectors)

void main() {
    uint width = WIDE ? columns / 4u : columns, size = WIDE ? length / 4u : length;
    uint jobs = slices * parts * width;
    for (uint job = gl_GlobalInvocationID.x; job < jobs; job += gl_NumWorkGroups.x * WORKGROUP) {
        uint column = job % width, part = job / width % parts, slice = job / width / parts;
        uint rows = (size - column + width - 1u) / width;
        if (WIDE) {
            State4 s = fold_four(slice * size + column, width, part, rows);
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                write_result(4u * job + c, component(s, c));
        } else {
            write_result(job, fold_one(slice * size + column, width, part, rows));
        }
    }
}

#version 460
// Scan along an axis that is not the last: each invocation goes down one column, ITEMS rows at a time.
// values: (slices, length, inner) elements, of which the middle axis is scanned. scanned: the results.
//
// Neighbouring invocations have neighbouring columns, so each row is read and written in whole lines of
// memory. Several rows of a column are loaded before the first one is used. Invocations do not communicate,
// so there is only one version.
#include "operation.glsl"

#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif

layout(push_constant) uniform Parameters {
    uint count;     // slices * length * inner
    uint length;
    uint inner;
};

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint column = group * WORKGROUP + gl_LocalInvocationIndex;
    if (column >= count / length)
        return;
    uint first = column / inner * length * inner + column % inner;
    T sum = IDENTITY;
    for (uint row = 0u; row < length; row += ITEMS) {
        T x[ITEMS];
        [[unroll]] for (uint i = 0u; i < ITEMS; ++i)
            if (row + i < length)
                x[i] = read_element(first + (REVERSE != 0 ? length - 1u - row - i : row + i) * inner);
        [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
            if (row + i < length) {
                T next = COMBINE(sum, x[i]);
                uint at = REVERSE != 0 ? length - 1u - row - i : row + i;
                write_element(first + at * inner, EXCLUSIVE != 0 ? sum : next);
                sum = next;
            }
        }
    }
}

// Main part of a search in a sorted array: the splitters first, then a binary search in memory.
//
// Splitters are elements at equal distances. They tell which part of the array has the position of a value,
// so the upper levels of the search read no memory. Each invocation searches ITEMS values together: their loads
// do not depend on each other.
//
// SIDE: LEFT counts the elements less than a value, RIGHT those less than or equal to it.
//
// Required before this file: ../include/kernel.glsl, ../include/elements.glsl.

#define LEFT 0
#define RIGHT 1
#ifndef SIDE
#define SIDE LEFT
#endif

layout(std430, binding = 0) readonly restrict buffer Sorted { Scalar sorted_at[]; };
layout(std430, binding = 1) readonly restrict buffer Values { Scalar values[]; };
layout(std430, binding = 2) writeonly restrict buffer Positions { uint positions[]; };

layout(push_constant) uniform Push {
    uint count;          // sorted elements, fewer than 2^31
    uint value_count;    // values to search, fewer than 2^31
};

// Whether the position of `value` is after the element.
bool before(Key element, Key value) {
#if SIDE == LEFT
    return less(element, value);
#else
    return !less(value, element);
#endif
}

Key sorted_key(uint i) {
    return sort_key(TO_RAW(sorted_at[i]));
}

// Defined by the kernel: the maximum number of splitters.
uint most_splitters();

// Defined by the kernel: read the splitters. `step`: their distance; `valid`: their number. Called by all
// invocations.
void read_splitters(uint step, uint valid);

// Defined by the kernel: the number of splitters before a value. Called by all invocations.
uint splitters_before(Key value, uint valid);

// Splitter i is the last element of part i. Elements after the last whole part have no splitter.
uint splitter_index(uint i, uint step) {
    return (i + 1u) * step - 1u;
}

// Search in memory, from the first position of a part. A position is increased by falling powers of two while
// the elements that it skips are before the value. The powers add up to a whole part without its splitter.
void search(Key value[ITEMS], inout uint position[ITEMS], uint step) {
    if (step == 1u)
        return;
    for (uint skip = 1u << findMSB(step - 1u); skip > 0u; skip /= 2u) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            uint last = position[k] + skip - 1u;
            if (last < count && before(sorted_key(last), value[k]))
                position[k] += skip;
        }
    }
}

void main() {
    uint step = count / (most_splitters() + 1u) + 1u, valid = count / step;
    read_splitters(step, valid);
    uint tile = WORKGROUP * ITEMS;
    for (uint start = gl_WorkGroupID.x * tile; start < value_count; start += gl_NumWorkGroups.x * tile) {
        uint first = start + gl_LocalInvocationIndex;
        Key value[ITEMS];
        uint position[ITEMS];
        // Invocations without a value search the last one and write nothing, since all must take part in
        // shuffles.
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            value[k] = sort_key(TO_RAW(values[min(first + k * WORKGROUP, value_count - 1u)]));
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            position[k] = splitters_before(value[k], valid) * step;
        search(value, position, step);
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            if (first + k * WORKGROUP < value_count)
                positions[first + k * WORKGROUP] = position[k];
    }
}

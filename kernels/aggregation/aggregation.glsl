// Common part of all versions: each invocation folds its elements in registers, in a grid-stride loop over
// vectors of 16 bytes.
//
// The including file defines how a subgroup or workgroup combines the values of its invocations: hand_in()
// for the folds, hand_out() for the slots of kept elements.
//
// vectors, scalars: the same memory, as whole vectors of 16 bytes and as elements. result: one number,
// initially 0. kept (APPEND): the kept elements in any order, with room for all elements.
#ifndef AGGREGATION_GLSL
#define AGGREGATION_GLSL

// OPERATION: the greatest or the least key, the number of keys in a range, or these keys themselves. NaNs
// have the greatest keys. The least key is computed as the maximum of complements, so both maxima begin at 0.
#define MAXIMUM 0
#define MINIMUM 1
#define COUNT 2
#define APPEND 3
#ifndef OPERATION
#define OPERATION MAXIMUM
#endif

layout(std430, binding = 0) readonly buffer Vectors { uvec4 vectors[]; };
layout(std430, binding = 1) readonly buffer Scalars { Scalar scalars[]; };
layout(std430, binding = 2) buffer Result { uint result; };
#if OPERATION == APPEND
layout(std430, binding = 3) writeonly buffer Kept { Scalar kept[]; };
#endif

layout(push_constant) uniform Push {
    uint count;    // elements
    uint outside;  // 1: elements outside of low to high are counted, or kept
    Key low;
    Key high;
};

// Combines one invocation's fold with the result. Called once by all invocations of the workgroup.
void combine_folds(uint folded);
// Allocates `mine` slots of the result for this invocation, and returns the first one. Called by all
// invocations together.
uint allocate_slots(uint folded);

bool matches(Raw raw) {
    return between(key_of(raw), low, high) != (outside != 0u);
}

#if OPERATION <= MINIMUM
uint fold(uint before, Raw raw) {
#if OPERATION == MINIMUM
    return max(before, is_nan(raw) ? 0xffffffffu : ~key_of(raw));
#else
    return max(before, key_nan_last(raw));
#endif
}
#else
uint fold(uint before, Raw raw) {
    return before + uint(matches(raw));
}
#endif

#if OPERATION == APPEND
// One tile after the other; each round allocates the slots for the elements of one vector.
void append(uint i, uint total) {
    bool valid = i < total;
    uvec4 data = vectors[min(i, total - 1u)];
    uint folded = 0u;
    [[unroll]] for (uint e = 0u; e < PER; ++e)
        folded += uint(valid && matches(element(data, e)));
    uint at = allocate_slots(folded);
    [[unroll]] for (uint e = 0u; e < PER; ++e) {
        if (valid && matches(element(data, e))) {
            kept[at] = Scalar(element(data, e));
            ++at;
        }
    }
}
#endif

void main() {
    uint total = count / PER;
    uint step = gl_NumWorkGroups.x * WORKGROUP;
    uint tail = count - total * PER;
    bool has_tail = gl_WorkGroupID.x == 0u && gl_LocalInvocationIndex < tail;
#if OPERATION == APPEND
    for (uint first = gl_WorkGroupID.x * WORKGROUP; first < total; first += step)
        append(first + gl_LocalInvocationIndex, total);
    bool valid = false;
    if (has_tail)
        valid = matches(TO_RAW(scalars[total * PER + gl_LocalInvocationIndex]));
    if (gl_WorkGroupID.x == 0u) {
        uint at = allocate_slots(uint(valid));
        if (valid)
            kept[at] = scalars[total * PER + gl_LocalInvocationIndex];
    }
#else
    uint folded = 0u;
    // ITEMS vectors are loaded at once.
    for (uint first = gl_GlobalInvocationID.x; first < total; first += ITEMS * step) {
        uvec4 data[ITEMS];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            data[j] = vectors[min(first + j * step, total - 1u)];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            if (j == 0u || first + j * step < total)
                [[unroll]] for (uint e = 0u; e < PER; ++e)
                    folded = fold(folded, element(data[j], e));
    }
    if (has_tail)
        folded = fold(folded, TO_RAW(scalars[total * PER + gl_LocalInvocationIndex]));
    combine_folds(folded);
#endif
}

#endif

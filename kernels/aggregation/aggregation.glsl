// What all versions share: each invocation folds its elements in registers, by grid-stride over vectors of 16
// bytes.
//
// How the subgroup, or the workgroup, brings together what its invocations have is the including file's:
// hand_in() for the folds, hand_out() for the places of elements that are kept.
//
// vectors, scalars: the same memory, as whole vectors of 16 bytes and as elements. result: one number, 0
// before. kept (APPEND): the elements that are kept, in any order; room for all.
#ifndef AGGREGATION_GLSL
#define AGGREGATION_GLSL

// OPERATION: the greatest or least key (NaNs beyond all others, and the least key as its complement, so that
// both are maxima that begin at 0), how many keys lie in a range, or these themselves.
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
    uint outside;  // 1: what lies outside of low to high is counted, or kept
    Key low;
    Key high;
};

// Brings one invocation's fold into the result. Called once, by all invocations of the workgroup.
void hand_in(uint mine);
// Gives `mine` places of the result to this invocation, and returns the first one. Called by all together.
uint hand_out(uint mine);

bool wanted(Raw raw) {
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
    return before + uint(wanted(raw));
}
#endif

#if OPERATION == APPEND
// A tile after the other: the places of one vector's elements in each round.
void append(uint i, uint total) {
    bool valid = i < total;
    uvec4 data = vectors[min(i, total - 1u)];
    uint mine = 0u;
    [[unroll]] for (uint e = 0u; e < PER; ++e)
        mine += uint(valid && wanted(element(data, e)));
    uint at = hand_out(mine);
    [[unroll]] for (uint e = 0u; e < PER; ++e) {
        if (valid && wanted(element(data, e))) {
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
        valid = wanted(TO_RAW(scalars[total * PER + gl_LocalInvocationIndex]));
    if (gl_WorkGroupID.x == 0u) {
        uint at = hand_out(uint(valid));
        if (valid)
            kept[at] = scalars[total * PER + gl_LocalInvocationIndex];
    }
#else
    uint mine = 0u;
    // ITEMS vectors are under way at once.
    for (uint first = gl_GlobalInvocationID.x; first < total; first += ITEMS * step) {
        uvec4 data[ITEMS];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            data[j] = vectors[min(first + j * step, total - 1u)];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            if (j == 0u || first + j * step < total)
                [[unroll]] for (uint e = 0u; e < PER; ++e)
                    mine = fold(mine, element(data[j], e));
    }
    if (has_tail)
        mine = fold(mine, TO_RAW(scalars[total * PER + gl_LocalInvocationIndex]));
    hand_in(mine);
#endif
}

#endif

// Storage of states and results. FINISH selects how the parts of a row are combined:
//   DIRECT  a row is one part, whose state is the result
//   SECOND  the states are written, and another dispatch (finish_*.comp) reads them
//   TICKET  the states are written, and the last workgroup reads them
//   PARTS   the second dispatch: the states are read

#define DIRECT 0
#define SECOND 1
#define TICKET 2
#define PARTS 3

#ifndef FINISH
#define FINISH DIRECT
#endif

#if FINISH != DIRECT
// "coherent": with TICKET other workgroups of the same dispatch read them.
layout(std430, binding = 1) coherent restrict buffer Partials { A partials[]; };
#if ARG
layout(std430, binding = 2) coherent restrict buffer Places { uint places[]; };
#endif

void write_partial(uint i, State s) {
#if ARG
    partials[i] = s.value;
    places[i] = s.element_index;
#else
    partials[i] = s;
#endif
}

State read_partial(uint i) {
#if ARG
    return State(partials[i], places[i]);
#else
    return partials[i];
#endif
}
#endif

#if FINISH != SECOND
#if ARG
// 64-bit integers, lower half first, as NumPy's indices are.
layout(std430, binding = 3) writeonly restrict buffer Results { uvec2 results[]; };

void write_result(uint row, State s) { results[row] = uvec2(s.element_index, 0u); }
#else
layout(std430, binding = 3) writeonly restrict buffer Results { R results[]; };

void write_result(uint row, State s) {
#if KEY_BITS != 0
    // Convert a key back to the float's bits, the inverse of element(). Any NaN becomes the quiet one.
    S number = REVERSE != 0 ? INFINITE - S(s) : S(s) + ~INFINITE;
    S bits = number ^ ((number >> (A_BITS - 1)) & MAGNITUDE);
    results[row] = R(s > RANGE ? INFINITE | (INFINITE >> 1) & MAGNITUDE : bits);
#else
    results[row] = R(s);
#endif
}
#endif
#endif

#if FINISH == TICKET || FINISH == PARTS
// Combine this invocation's share of the states of a result's parts, always in the same order. They are at `first`
// and every `step` after it.
State fold_partials(uint first, uint step, uint parts) {
    State s = identity();
    uint lane = team_lane(), lanes = team_lanes();
    for (uint at = 0u; at < parts; at += lanes * ITEMS) {
        State loaded[ITEMS];
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            loaded[k] = read_partial(first + min(at + k * lanes + lane, parts - 1u) * step);
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
            if (at + k * lanes + lane < parts)
                s = combine(s, loaded[k]);
    }
    return s;
}
#endif

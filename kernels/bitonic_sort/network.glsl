// Sort of short rows, each by one team of invocations in one dispatch: a bitonic network in registers.
//
// A row has at most TEAM * ITEMS elements, and each invocation of its team has ITEMS consecutive positions. Positions
// of one invocation are compared in its registers. For others, each invocation gets the elements of a partner
// (fetch(), defined by the kernel); both compare, and the one with the lower positions keeps the lesser elements.
//
// An element is the order of a key (keys.glsl) and the key's index in the row. Elements with equal orders are
// compared by their indices. This makes the sort stable, and every two elements different. Keys and values are
// read again by the index at the end.
//
// Macros: those of keys.glsl; INDICES 1: the result is the indices instead of the keys.
#include "../include/kernel.glsl"
#include "../radix_sort/keys.glsl"

#ifndef INDICES
#define INDICES 0
#endif

layout(constant_id = 10) const uint TEAM = 32u;    // invocations of a row, a power of two; ITEMS is another

layout(std430, binding = 0) readonly buffer Keys { KEY keys[]; };
#if INDICES
layout(std430, binding = 1) writeonly buffer Result { uint sorted_indices[]; };
#else
layout(std430, binding = 1) writeonly buffer Result { KEY sorted_keys[]; };
#endif
#if VALUE_WORDS
layout(std430, binding = 2) readonly buffer Values { VALUE values[]; };
layout(std430, binding = 3) writeonly buffer ResultValues { VALUE sorted_values[]; };
#endif

layout(push_constant) uniform Push {
    uint rows;
    uint row_length;
};

struct Element {
    KEY order;
    uint index;
};

// Number of this invocation in its workgroup; the invocations of a team have consecutive numbers.
uint invocation();

// Get the elements of the invocation whose number differs by the bits of `mask`; in reverse order if `reversed`.
void fetch(Element x[ITEMS], uint mask, bool reversed, out Element other[ITEMS]);

bool is_before(Element a, Element b) {
#if KEY_WORDS == 2
    if (a.order.y != b.order.y)
        return a.order.y < b.order.y;
    if (a.order.x != b.order.x)
        return a.order.x < b.order.x;
#else
    if (a.order != b.order)
        return a.order < b.order;
#endif
    return a.index < b.index;
}

void put_in_order(inout Element low, inout Element high) {
    if (is_before(high, low)) {
        Element former = low;
        low = high;
        high = former;
    }
}

// Sort the elements of this invocation, if comparing positions at `distance` and less is sufficient.
void merge_own(inout Element x[ITEMS], uint distance) {
    UNROLLED for (; distance > 0u; distance /= 2u)
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)
            if ((i & distance) == 0u)
                put_in_order(x[i], x[i | distance]);
}

// Sort the elements of this invocation: merge runs of doubling length. The second run is compared in reverse.
void sort_own(inout Element x[ITEMS]) {
    UNROLLED for (uint n = 2u; n <= ITEMS; n *= 2u) {
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)
            if ((i & (n / 2u)) == 0u)
                put_in_order(x[i], x[i ^ (n - 1u)]);
        merge_own(x, n / 4u);
    }
}

// Compare with the partner, whose number differs by `mask`; `bit` is the highest bit of it.
void compare(inout Element x[ITEMS], uint mask, uint bit, bool reversed) {
    Element other[ITEMS];
    fetch(x, mask, reversed, other);
    bool lower = (invocation() & bit) == 0u;
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        if (is_before(other[i], x[i]) == lower)
            x[i] = other[i];
}

void sort_team(inout Element x[ITEMS]) {
    sort_own(x);
    for (uint n = 1u; n < TEAM; n *= 2u) {
        compare(x, 2u * n - 1u, n, true);
        for (uint distance = n / 2u; distance > 0u; distance /= 2u)
            compare(x, distance, distance, false);
        merge_own(x, ITEMS / 2u);
    }
}

void main() {
    uint teams = WORKGROUP / TEAM;
    uint first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * teams;
    if (first >= rows)
        return;
    uint row = first + invocation() / TEAM;
    uint member = invocation() % TEAM;
    // Elements beyond the end of the row have the greatest order and the greatest indices, so they stay last.
    Element x[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        x[i] = Element(KEY(NOTHING), i * TEAM + member);
        if (row < rows && x[i].index < row_length)
            x[i].order = ordered(keys[row * row_length + x[i].index]);
    }
    sort_team(x);
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint position = member * ITEMS + i;
        if (row < rows && position < row_length) {
            uint from = row * row_length + x[i].index;
            uint to = row * row_length + position;
#if INDICES
            sorted_indices[to] = x[i].index;
#else
            sorted_keys[to] = keys[from];
#endif
#if VALUE_WORDS
            sorted_values[to] = values[from];
#endif
        }
    }
}

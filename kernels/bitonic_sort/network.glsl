// Sort of short rows, each by one team of invocations in one dispatch: a bitonic network in registers.
//
// A row has at most TEAM * ITEMS elements, and each invocation of its team has ITEMS consecutive positions. Positions
// of one invocation are compared in its registers. For others, each invocation gets the elements of a partner
// (fetch(), defined by the kernel); both compare, and the one with the lower positions keeps the lesser elements.
//
// Bindings, macros and the order of elements: rows.glsl.
#include "rows.glsl"

layout(constant_id = 10) const uint TEAM = 32u;    // invocations of a row, a power of two; ITEMS is another

// Number of this invocation in its workgroup; the invocations of a team have consecutive numbers.
uint invocation();

// Get the elements of the invocation whose number differs by the bits of `mask`; in reverse order if `reversed`.
void fetch(Element x[ITEMS], uint mask, bool reversed, out Element other[ITEMS]);

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
    Element x[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        x[i] = element_of(row, i * TEAM + member);
    sort_team(x);
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        move(row, x[i].index, member * ITEMS + i);
}

// Sort of short rows by ranks, in one dispatch without waiting: the position of an element is the number of elements
// of its row that come before it ("enumeration sort", D. E. Muller and F. P. Preparata, 1975).
//
// A team of invocations computes the ranks of ITEMS elements. Its invocations compare these with different elements of
// the row, and the team adds their counts. A row of n elements takes n * n comparisons, by many workgroups at once.
//
// Bindings, macros and the order of elements: ../bitonic_sort/rows.glsl.
#include "../bitonic_sort/rows.glsl"

#ifndef BATCH
#define BATCH 4         // elements of the row that an invocation reads before it compares them
#endif

// The elements of a team: ITEMS consecutive ones from `first` on.
struct Part {
    uint row;
    uint first;
};

// Part number `number` of all rows; its row does not exist if the number is too large.
Part part_of(uint number) {
    uint parts = (row_length + ITEMS - 1u) / ITEMS;
    return Part(number / parts, number % parts * ITEMS);
}

uint is_less(KEY a, KEY b) {
#if KEY_WORDS == 2
    return uint(a.y < b.y) | (uint(a.y == b.y) & uint(a.x < b.x));
#else
    return uint(a < b);
#endif
}

// Orders of BATCH elements: of every `team`-th index from `next` on, before `end`. The others are `filler`.
void read_batch(uint row, uint next, uint team, uint end, KEY filler, out KEY other[BATCH]) {
    UNROLLED for (uint k = 0u; k < BATCH; ++k) {
        uint index = next + k * team;
        other[k] = index < end ? ordered(keys[row * row_length + index]) : filler;
    }
}

// Count for each element of a part how many elements come before it. The invocation counts those with the indices
// member, member + team and so on. The sums of all invocations' counts, modulo 2^32, are the ranks.
void count_before(Part part, uint member, uint team, out uint before[ITEMS]) {
    KEY own[ITEMS], other[BATCH];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        own[i] = element_of(part.row, part.first + i).order;
    // All elements with lower indices come before, but for the greater ones.
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        before[i] = member == 0u ? part.first : 0u;
    for (uint next = member; next < part.first; next += BATCH * team) {
        read_batch(part.row, next, team, part.first, KEY(0u), other);
        UNROLLED for (uint k = 0u; k < BATCH; ++k)
            UNROLLED for (uint i = 0u; i < ITEMS; ++i)
                before[i] -= is_less(own[i], other[k]);
    }
    // Of those with higher indices only the lesser ones; in the part itself also equal ones with lower indices.
    for (uint next = part.first + member; next < row_length; next += BATCH * team) {
        read_batch(part.row, next, team, row_length, KEY(NOTHING), other);
        UNROLLED for (uint k = 0u; k < BATCH; ++k)
            UNROLLED for (uint i = 0u; i < ITEMS; ++i)
                before[i] += is_less(other[k], own[i]);
    }
    if (member == 0u)
        UNROLLED for (uint i = 1u; i < ITEMS; ++i)
            UNROLLED for (uint k = 0u; k < i; ++k)
                before[i] += uint(own[k] == own[i]);
}

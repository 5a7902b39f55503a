// Where a workgroup counts: in shared memory, in several copies of all bins, or directly in the device's
// memory.
//
// IN_MEMORY: 1 where the bins do not fit into shared memory.
// Copies keep invocations from waiting for each other. Interleaved, copy c of bin b is at COPIES b + c, and an
// invocation uses the copy of its number modulo COPIES: with as many copies as there are banks, neighbours use
// different banks and different addresses whatever the data. One behind the other, padded by one, they suit
// copies by subgroup: there, the same bin of two subgroups is in different banks.
#ifndef TABLE_GLSL
#define TABLE_GLSL

#ifndef IN_MEMORY
#define IN_MEMORY 0
#endif

layout(constant_id = 10) const uint BINS = 256u;  // room for bins in a copy
layout(constant_id = 11) const uint COPIES = 8u;
layout(constant_id = 12) const bool INTERLEAVED = true;

#if IN_MEMORY == 0
const uint PITCH = BINS + 1u;
const uint WORDS = COPIES * PITCH;
shared uint table[WORDS];

uint place(uint bin, uint copy) {
    return INTERLEAVED ? bin * COPIES + copy : copy * PITCH + bin;
}

void table_clear() {
    for (uint i = gl_LocalInvocationIndex; i < WORDS; i += WORKGROUP)
        table[i] = 0u;
    barrier();
}

// Adds up the copies of each bin, beginning with another one in each invocation so that they read from
// different banks, and adds what is there to the device's memory: one atomic operation a bin and workgroup.
void table_merge() {
    barrier();
    for (uint bin = gl_LocalInvocationIndex; bin < bins; bin += WORKGROUP) {
        uint sum = 0u;
        [[unroll]] for (uint c = 0u; c < COPIES; ++c)
            sum += table[place(bin, (c + gl_LocalInvocationIndex) % COPIES)];
        if (sum != 0u)
            atomicAdd(counts[bin], sum);
    }
}
#endif

#endif

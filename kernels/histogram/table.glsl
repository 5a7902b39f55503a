// Table of counts of a workgroup: several copies of all bins in shared memory, or the bins in device memory.
//
// IN_MEMORY: 1 if the bins do not fit into shared memory. Copies reduce conflicts between invocations.
// Interleaved copies: copy c of bin b is at COPIES b + c, and an invocation uses the copy with its index
// modulo COPIES. With as many copies as banks, neighbors use different banks and addresses for all data.
// Consecutive copies, padded by one, are better for one copy per subgroup: the same bin of two subgroups is
// then in different banks.
//
// ONE_GROUP: 1 if one workgroup counts all elements. It stores the counts, which need not be zeros before.
#ifndef TABLE_GLSL
#define TABLE_GLSL

#ifndef IN_MEMORY
#define IN_MEMORY 0
#endif

#ifndef ONE_GROUP
#define ONE_GROUP 0
#endif

layout(constant_id = 10) const uint BINS = 256u;  // size of a copy, in bins
layout(constant_id = 11) const uint COPIES = 8u;
layout(constant_id = 12) const bool INTERLEAVED = true;

#if IN_MEMORY == 0
const uint PITCH = BINS + 1u;
const uint WORDS = COPIES * PITCH;
shared uint table[WORDS];

uint table_index(uint bin, uint copy) {
    return INTERLEAVED ? bin * COPIES + copy : copy * PITCH + bin;
}

void table_clear() {
    for (uint i = gl_LocalInvocationIndex; i < WORDS; i += WORKGROUP)
        table[i] = 0u;
    barrier();
}

// Adds the copies of each bin, and adds the sums to device memory: at most one atomic operation per bin and
// workgroup. Each invocation begins with a different copy, so that invocations read from different banks.
void table_merge() {
    barrier();
    for (uint bin = gl_LocalInvocationIndex; bin < bins; bin += WORKGROUP) {
        uint sum = 0u;
        [[unroll]] for (uint c = 0u; c < COPIES; ++c)
            sum += table[table_index(bin, (c + gl_LocalInvocationIndex) % COPIES)];
#if ONE_GROUP
        counts[bin] = sum;
#else
        if (sum != 0u)
            atomicAdd(counts[bin], sum);
#endif
    }
}
#endif

#endif

// Stress of litmus tests, after MC Mutants (ASPLOS 2023) and GPUHarbor (ISSTA 2023): workgroups that do not test access
// other memory meanwhile; those that test access it before each round, and wait for each other (with a bounded number
// of loads); numbers of workgroups and partners of lanes are permuted.
//
// binding 8, plan:     the numbers below; the same for all workgroups.
// binding 9, groups:   for each workgroup its number, and the word of `scratch` that it accesses; those with numbers
//                      below TESTING test.
// binding 10, scratch: word 0 counts the workgroups that wait; the others are accessed.

layout(set = 0, binding = 8) readonly buffer Plan { uint plan[]; };
layout(set = 0, binding = 9) readonly buffer Groups { uint groups[]; };
layout(set = 0, binding = 10) buffer Scratch { uint scratch[]; };

#define TESTING plan[0]
#define STRIDE plan[1]
#define ROUNDS plan[2]
#define TRIES plan[3]
#define FACTOR plan[4]
#define SPIN plan[5]
// Pairs of accesses and their pattern: 0 store, store; 1 store, load; 2 load, store; 3 load, load.
#define OWN_LOOPS plan[6]
#define OWN_PATTERN plan[7]
#define OTHER_LOOPS plan[8]
#define OTHER_PATTERN plan[9]

uint accessed(uint word, uint i, bool stores) {
    if (stores) {
        atomicStore(scratch[word], i, gl_ScopeDevice, 0, 0);
        return 0u;
    }
    return atomicLoad(scratch[word], gl_ScopeDevice, 0, 0);
}

void access(uint loops, uint pattern) {
    uint word = groups[2u * gl_WorkGroupID.x + 1u], sum = 0u;
    for (uint i = 0u; i < loops; i++) {
        sum |= accessed(word, i, pattern < 2u);
        sum |= accessed(word, i, (pattern & 1u) == 0u);
    }
    if (sum == 0xFFFFFFFFu) { // Never true, but the compiler cannot prove it; keeps the loads.
        atomicStore(scratch[word], sum, gl_ScopeDevice, 0, 0);
    }
}

// Returns the number of the workgroup. One that does not test has then done its accesses.
uint number_of_workgroup() {
    uint group = groups[2u * gl_WorkGroupID.x];
    if (group >= TESTING) {
        access(OTHER_LOOPS, OTHER_PATTERN);
    }
    return group;
}

// Before each round, in uniform control flow.
void begin(uint round) {
    access(OWN_LOOPS, OWN_PATTERN);
    if (SPIN != 0u) {
        if (gl_LocalInvocationIndex == 0u) {
            uint expected = TESTING * (round + 1u);
            uint arrived = atomicAdd(scratch[0], 1u) + 1u;
            for (uint tries = 0u; tries < SPIN && arrived < expected; tries++) {
                arrived = atomicLoad(scratch[0], gl_ScopeDevice, 0, 0);
            }
        }
        barrier();
    }
}

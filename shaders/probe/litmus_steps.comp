// Litmus tests of SIMT-Step (Chen, Rehman, Martínez, Sorensen: PLDI 2026): counts the rounds in which a lane sees an
// outcome that lanes show only if they do not take the steps between their accesses together. Stores release and loads
// acquire, as in the paper: an outcome is not one of relaxed memory. Words are zero at first; but for test 0, every
// round uses new ones.
//
// TEST 0: figure 3: all lanes, of all workgroups, store to one word and load it: the lanes of a subgroup differ.
//      1: figure 2: each lane accesses its own word, then its partner's.
//      2: figure 9: the same, with the second access in a branch that differs between the lanes.
//      3: figure 9 with a subgroup operation in each side of the branch.
//      4: figure 10: the lanes of a branch that a store after it closes are not all together in it.
//      5: figure 11: a broadcast value that depends on itself is one that no lane stored.
//      6: figure 3 with a word for each subgroup, which no other one accesses.
// ACCESS (tests 1 to 3) 0: store, store; 1: load, store; 2: store, load.
//
// binding 0, words:  zero; (rounds, invocations, STRIDE).
// binding 1, seen:   for each invocation, the rounds with the outcome.
// binding 2, work:   for each invocation, a result of both sides of its branches, so that these stay apart.
//
// Specialization constant 0: the number of invocations of the workgroup, which is one subgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x_id = 0) in;

#include "litmus_stress.glsl"

layout(set = 0, binding = 0) buffer Words { uint words[]; };
layout(set = 0, binding = 1) writeonly buffer Seen { uint seen[]; };
layout(set = 0, binding = 2) writeonly buffer Work { uint work[]; };

void put(uint word, uint value) {
    atomicStore(words[word], value, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
}

uint get(uint word) {
    return atomicLoad(words[word], gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
}

uint get_after_all(uint word) {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    return get(word);
}

void main() {
    uint group = number_of_workgroup();
    if (group >= TESTING) {
        return;
    }
    uint lanes = gl_WorkGroupSize.x, lane = gl_SubgroupInvocationID;
    uint index = group * lanes + lane, invocations = TESTING * lanes;
    uint stride = STRIDE, count = 0u, sum = 0u;
    for (uint round = 0u; round < ROUNDS; round++) {
        begin(round);
        uint start = (round * invocations + group * lanes) * stride;
        uint own = start + lane * stride;
        uint partner = start + (lane * FACTOR + 1u) % lanes * stride; // never the own word: FACTOR is odd
        uint found = 0u;
        bool outcome;
#if TEST == 0
        put(0u, index); // in all rounds the same word, so that workgroups that are in different rounds meet
        found = get(0u);
        outcome = found != subgroupBroadcastFirst(found);
#elif TEST == 6
        put(start, lane);
        found = get(start);
        outcome = found != subgroupBroadcastFirst(found);
#elif TEST == 4
        if (get(start) == 0u) {
            found = subgroupBallotBitCount(subgroupBallot(true));
            put(start, 1u);
        }
        outcome = found != lanes;
#elif TEST == 5
        put(partner, subgroupBroadcast(get(own), 0u));
        outcome = get_after_all(own) != 0u;
#else
#if ACCESS == 1
        found = get(own);
#else
        put(own, 1u);
#endif
#if TEST == 1
#if ACCESS == 2
        found = get(partner);
#else
        put(partner, 2u);
#endif
#else
        if ((lane & 1u) == 0u) {
#if TEST == 3
            sum += subgroupBallot(round % 3u == 0u).x;
#endif
#if ACCESS == 2
            found = get(partner);
            sum += found * 3u;
#else
            put(partner, 2u);
#endif
        } else {
#if TEST == 3
            sum ^= subgroupBallot(round % 5u == 0u).x;
#endif
#if ACCESS == 2
            found = get(partner);
            sum ^= found;
#else
            put(partner, 3u);
#endif
        }
#endif
#if ACCESS == 0
        outcome = get_after_all(own) == 1u;
#elif ACCESS == 1
        outcome = found != 0u;
#else
        outcome = found == 0u;
#endif
#endif
        count += outcome ? 1u : 0u;
    }
    seen[index] = count;
    work[index] = sum;
}

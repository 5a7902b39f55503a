// Counts how often a lane sees what another lane of its subgroup stored just before, with atomic stores and loads
// without order. Every round uses new words, so a word is zero until its store is visible. The partner is another
// lane in every round: FACTOR is odd, and so is the offset.
//
// BRANCH 1:   before the store the lanes take a branch that differs between them.
// BETWEEN 1:  between store and load stands a shuffle; 2: a subgroup barrier, which orders memory.
//
// binding 0, key:    for each invocation, the number that selects its branch; read from memory.
// binding 1, words:  zero; (rounds, invocations, STRIDE).
// binding 2, seen:   for each invocation, the rounds in which it saw the store.
// binding 3, work:   for each invocation, a result of its branches, so that the compiler keeps them as branches.
//
// Specialization constant 0: the number of invocations of the workgroup, which is one subgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#if BETWEEN == 1
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

layout(local_size_x_id = 0) in;

#include "litmus_stress.glsl"

layout(set = 0, binding = 0) readonly buffer Key { uint key[]; };
layout(set = 0, binding = 1) buffer Words { uint words[]; };
layout(set = 0, binding = 2) writeonly buffer Seen { uint seen[]; };
layout(set = 0, binding = 3) writeonly buffer Work { uint work[]; };

void main() {
    uint group = number_of_workgroup();
    if (group >= TESTING) {
        return;
    }
    uint first = group * gl_WorkGroupSize.x;
    uint index = first + gl_SubgroupInvocationID;
    uint invocations = TESTING * gl_WorkGroupSize.x;
    uint own = key[index], count = 0u;
    for (uint round = 0u; round < ROUNDS; round++) {
        begin(round);
        uint partner = first + (gl_SubgroupInvocationID * FACTOR + 1u + 2u * round) % gl_WorkGroupSize.x;
        uint start = round * invocations;
        if (BRANCH == 1 && ((own >> (round % 8u)) & 1u) != 0u) {
            own = own * 1664525u + 1013904223u;
        }
        atomicStore(words[(start + index) * STRIDE], 1u, gl_ScopeSubgroup, 0, 0);
#if BETWEEN == 1
        own += subgroupShuffleXor(own, 1u);
#elif BETWEEN == 2
        subgroupBarrier();
#endif
        count += atomicLoad(words[(start + partner) * STRIDE], gl_ScopeSubgroup, 0, 0);
    }
    seen[index] = count;
    work[index] = own;
}

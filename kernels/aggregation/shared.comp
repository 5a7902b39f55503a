#version 460
// Without subgroup operations: each invocation does an atomic operation on a word in shared memory, and each
// workgroup one in device memory; or (THROUGH_SHARED false) each invocation does one in device memory.
// Operations and bindings: aggregation.glsl.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "aggregation.glsl"

layout(constant_id = 10) const bool THROUGH_SHARED = true;

shared uint common_word;
shared uint common_first;

void operate(uint mine) {
#if OPERATION <= MINIMUM
    atomicMax(result, mine);
#else
    if (mine > 0u)
        atomicAdd(result, mine);
#endif
}

void clear() {
    if (gl_LocalInvocationIndex == 0u)
        common_word = 0u;
    barrier();
}

void hand_in(uint mine) {
    if (!THROUGH_SHARED) {
        operate(mine);
        return;
    }
    clear();
#if OPERATION <= MINIMUM
    atomicMax(common_word, mine);
#else
    if (mine > 0u)
        atomicAdd(common_word, mine);
#endif
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        operate(common_word);
}

uint hand_out(uint mine) {
    if (!THROUGH_SHARED)
        return mine > 0u ? atomicAdd(result, mine) : 0u;
    clear();
    uint before = 0u;
    if (mine > 0u)
        before = atomicAdd(common_word, mine);
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        common_first = atomicAdd(result, common_word);
    barrier();
    return common_first + before;
}

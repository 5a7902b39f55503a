#version 460
// Without subgroup operations: each invocation does an atomic operation on a word in shared memory, and each
// workgroup one in device memory; or (THROUGH_SHARED false) each invocation does one in device memory.
// Operations and bindings: aggregation.glsl.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "aggregation.glsl"

layout(constant_id = 10) const bool THROUGH_SHARED = true;

shared uint shared_fold;
shared uint shared_first;

void operate(uint folded) {
#if OPERATION <= MINIMUM
    atomicMax(result, folded);
#else
    if (folded > 0u)
        atomicAdd(result, folded);
#endif
}

void clear() {
    if (gl_LocalInvocationIndex == 0u)
        shared_fold = 0u;
    barrier();
}

void combine_folds(uint folded) {
    if (!THROUGH_SHARED) {
        operate(folded);
        return;
    }
    clear();
#if OPERATION <= MINIMUM
    atomicMax(shared_fold, folded);
#else
    if (folded > 0u)
        atomicAdd(shared_fold, folded);
#endif
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        operate(shared_fold);
}

uint allocate_slots(uint folded) {
    if (!THROUGH_SHARED)
        return folded > 0u ? atomicAdd(result, folded) : 0u;
    clear();
    uint before = 0u;
    if (folded > 0u)
        before = atomicAdd(shared_fold, folded);
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        shared_first = atomicAdd(result, shared_fold);
    barrier();
    return shared_first + before;
}

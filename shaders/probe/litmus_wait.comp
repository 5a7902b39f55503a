// Both sides of a branch count to STEPS; at each step a side stores its number, then waits until the other side's is as
// great. Where one side runs to its end before the other, only the later one sees all numbers: the earlier one gives up
// and leaves its last number there. The number of loads is bounded, so the shader ends on every device.
//
// STEPS: numbers that each side stores. One is not enough: a compiler may place the stores of both sides first.
// TRIES: loads in one step.
//
// binding 0, side:   for each invocation its side, 0 for the first in the source, or 1; read from memory.
// binding 1, words:  zero; (rounds, subgroups, 2, STRIDE).
// binding 2, seen:   (rounds, invocations): whether the invocation saw all numbers of the other side.
//
// Specialization constant 0: the number of invocations of the workgroup, which is one subgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x_id = 0) in;

#include "litmus_stress.glsl"

layout(set = 0, binding = 0) readonly buffer Side { uint side[]; };
layout(set = 0, binding = 1) buffer Words { uint words[]; };
layout(set = 0, binding = 2) writeonly buffer Seen { uint seen[]; };

uint exchange(uint own, uint other) {
    bool sees = true;
    for (uint step = 1u; step <= STEPS; step++) {
        atomicStore(words[own], step, gl_ScopeDevice, 0, 0);
        uint found = 0u;
        for (uint tries = 0u; tries < TRIES && found < step && sees; tries++) {
            found = atomicLoad(words[other], gl_ScopeDevice, 0, 0);
        }
        sees = sees && found >= step;
    }
    return sees ? 1u : 0u;
}

void main() {
    uint group = number_of_workgroup();
    if (group >= TESTING) {
        return;
    }
    uint index = group * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
    bool is_first = side[index] == 0u;
    for (uint round = 0u; round < ROUNDS; round++) {
        begin(round);
        uint first = (round * TESTING + group) * 2u * STRIDE;
        uint second = first + STRIDE;
        uint found;
        if (is_first) {
            found = exchange(first, second);
        } else {
            found = exchange(second, first);
        }
        seen[round * TESTING * gl_WorkGroupSize.x + index] = found;
    }
}

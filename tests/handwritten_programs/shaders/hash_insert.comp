#version 460
// A hash table with open addressing, filled by all invocations at once: counts of each different key.
// keys: one uint an invocation, not EMPTY. slots: key and count; EMPTY and 0 before. distinct: how many keys; 0 before.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Keys { uint keys[]; };
layout(std430, binding = 1) coherent buffer Slots { uvec2 slots[]; };
layout(std430, binding = 2) buffer Distinct { uint distinct; };

const uint EMPTY = 0xffffffffu;

void main() {
    uint key = keys[gl_GlobalInvocationID.x], length = uint(slots.length());
    uint at = (key * 2654435761u >> 16) % length;
    for (uint tries = 0u; tries < length; tries++) {
        uint there = atomicCompSwap(slots[at].x, EMPTY, key);
        if (there == EMPTY || there == key) {
            atomicAdd(slots[at].y, 1u);
            if (there == EMPTY) atomicAdd(distinct, 1u);
            break;
        }
        at = (at + 1u) % length;
    }
}

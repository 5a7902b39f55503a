// Inserts keys into an open hash table and counts the distinct ones.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Keys { uint keys[]; };
layout(std430, binding = 1) coherent buffer Table { uint slots[512]; };
layout(std430, binding = 2) buffer Distinct { uint distinct; };
void main() {
    uint key = keys[gl_GlobalInvocationID.x] + 1u;
    uint at = (key * 2654435761u) >> 23;
    for (uint probe = 0u; probe < 512u; ++probe) {
        uint before = atomicCompSwap(slots[at], 0u, key);
        if (before == 0u) {
            atomicAdd(distinct, 1u);
            break;
        }
        if (before == key)
            break;
        at = (at + 1u) & 511u;
    }
}

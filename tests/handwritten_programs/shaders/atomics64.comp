#version 460
// Atomics on 64-bit integers: a sum beyond 32 bits, and the nearest hit with its number in one word.
// distances: one uint an invocation. sum: of all. nearest: distance in the upper half, invocation in the lower.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Distances { uint distances[]; };
layout(std430, binding = 1) buffer Results {
    uint64_t sum;
    uint64_t nearest;
};

void main() {
    uint distance = distances[gl_GlobalInvocationID.x];
    atomicAdd(sum, uint64_t(distance));
    atomicMin(nearest, uint64_t(distance) << 32 | gl_GlobalInvocationID.x);
}

#version 460
// 4 x 4 max pooling in which each invocation loads its own windows, one row at a time, without communication.
// Bindings: pool.glsl.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "pool.glsl"

void main() {
    uint step = gl_NumWorkGroups.x * WORKGROUP;
    for (uint window = gl_GlobalInvocationID.x; window < count; window += step)
        pool_alone(window);
}

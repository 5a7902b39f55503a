// Each invocation reads its neighbour's number; only the writes stand before a fence.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) coherent buffer Cells { uint cell[]; };
layout(std430, binding = 2) buffer Output { uint y[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    cell[g] = x[g];
    memoryBarrierBuffer();
    barrier();
    y[g] = cell[g ^ 1u]; // expect: race
}

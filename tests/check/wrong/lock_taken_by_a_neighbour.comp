// A critical section: the holder of the lock waits for the lanes that wait for the lock.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) coherent buffer Shared { uint lock; uint sum; };
void main() {
    while (atomicCompSwap(lock, 0u, 1u) != 0u) { // expect: hang
    }
    atomicAdd(sum, values[gl_GlobalInvocationID.x]);
    memoryBarrierBuffer();
    atomicExchange(lock, 0u);
}

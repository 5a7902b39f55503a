// One invocation of each workgroup enters a critical section that a lock guards.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) coherent buffer Ledger { uint lock; uint sum; uint entries; };
void main() {
    if (gl_LocalInvocationIndex != 0u)
        return;
    bool done = false;
    while (!done) {
        if (atomicCompSwap(lock, 0u, 1u) == 0u) {
            memoryBarrierBuffer();
            sum += values[gl_WorkGroupID.x];
            entries += 1u;
            memoryBarrierBuffer();
            atomicExchange(lock, 0u);
            done = true;
        }
    }
}

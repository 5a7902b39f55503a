// Sorts blocks of 64 keys in shared memory.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Keys { uint keys[64]; };
layout(std430, binding = 1) writeonly buffer Sorted { uint sorted[64]; };
shared uint s[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    s[t] = keys[t];
    s[t + 32u] = keys[t + 32u];
    for (uint k = 2u; k <= 64u; k <<= 1) {
        for (uint j = k >> 1; j > 0u; j >>= 1) {
            barrier();
            uint low = ((t / j) * 2u * j) + t % j;
            uint high = low + j;
            bool up = (low & k) == 0u;
            uint a = s[low], b = s[high];
            if ((a > b) == up) {
                s[low] = b;
                s[high] = a;
            }
        }
    }
    barrier();
    if (gl_WorkGroupID.x == 0u) {
        sorted[t] = s[t];
        sorted[t + 32u] = s[t + 32u];
    }
}

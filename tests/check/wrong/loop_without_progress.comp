// Number of steps of Collatz' sequence down to 1; of zero there is no such number.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Start { uint start[]; };
layout(binding = 1) writeonly buffer Steps { uint steps[]; };
void main() {
    uint n = start[gl_GlobalInvocationID.x];
    uint k = 0u;
    while (n != 1u) { // expect: hang
        n = (n & 1u) == 0u ? n / 2u : 3u * n + 1u;
        ++k;
    }
    steps[gl_GlobalInvocationID.x] = k;
}

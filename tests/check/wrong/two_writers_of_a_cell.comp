// Halves a signal; every result is written by both of its sources.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Fine { float fine[]; };
layout(binding = 1) writeonly buffer Coarse { float coarse[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    coarse[i / 2u] = fine[i] * 0.5; // expect: race
}

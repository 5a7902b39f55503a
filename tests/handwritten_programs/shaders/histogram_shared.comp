#version 460
// Histogram of bytes: each workgroup counts in shared memory, then adds its counts to the buffer's.
// words: four bytes each. counts: one for each value of a byte modulo 64; 0 before.

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Words { uint words[]; };
layout(std430, binding = 1) buffer Counts { uint counts[64]; };

shared uint local_counts[64];

void main() {
    uint me = gl_LocalInvocationIndex;
    if (me < 64u) local_counts[me] = 0u;
    barrier();
    uint word = words[gl_GlobalInvocationID.x];
    for (int byte = 0; byte < 4; byte++) atomicAdd(local_counts[bitfieldExtract(word, 8 * byte, 8) % 64u], 1u);
    barrier();
    if (me < 64u && local_counts[me] != 0u) atomicAdd(counts[me], local_counts[me]);
}

#version 460
// CRC-32 (as in PNG and Ethernet) of strings in a byte buffer, by a table that the workgroup makes in shared memory.
// bytes: all strings, four bytes a word. spans: begin and end of each string in bytes. sums: one CRC a string.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Bytes { uint bytes[]; };
layout(std430, binding = 1) readonly buffer Spans { uvec2 spans[]; };
layout(std430, binding = 2) writeonly buffer Sums { uint sums[]; };

shared uint table[256];

void main() {
    for (uint entry = gl_LocalInvocationIndex; entry < 256u; entry += gl_WorkGroupSize.x) {
        uint sum = entry;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ ((sum & 1u) != 0u ? 0xedb88320u : 0u);
        table[entry] = sum;
    }
    barrier();
    uint which = gl_GlobalInvocationID.x;
    if (which >= spans.length()) return;
    uint sum = ~0u;
    for (uint at = spans[which].x; at < spans[which].y; at++) {
        uint byte = bitfieldExtract(bytes[at / 4u], int(at % 4u) * 8, 8);
        sum = sum >> 8 ^ table[(sum ^ byte) & 255u];
    }
    sums[which] = ~sum;
}

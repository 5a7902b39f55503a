#version 460
// Base64: each invocation turns three bytes into four characters, with '=' where the input ends.
// bytes: the input, four bytes a word; length: how many bytes count. text: one word of four characters an invocation.

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint length; };
layout(std430, binding = 0) readonly buffer Bytes { uint bytes[]; };
layout(std430, binding = 1) writeonly buffer Text { uint text[]; };

uint byte_at(uint at) {
    return at < length ? bitfieldExtract(bytes[at / 4u], int(at % 4u * 8u), 8) : 0u;
}

uint letter(uint six) {
    if (six < 26u) return 65u + six;
    if (six < 52u) return 97u + (six - 26u);
    if (six < 62u) return 48u + (six - 52u);
    return six == 62u ? 43u : 47u;
}

void main() {
    uint me = gl_GlobalInvocationID.x, start = 3u * me;
    if (start >= length) return;
    uint three = byte_at(start) << 16 | byte_at(start + 1u) << 8 | byte_at(start + 2u), word = 0u;
    for (uint k = 0u; k < 4u; k++) {
        uint character = start + k > length ? 61u : letter(three >> (18u - 6u * k) & 63u);
        word = bitfieldInsert(word, character, int(8u * k), 8);
    }
    text[me] = word;
}

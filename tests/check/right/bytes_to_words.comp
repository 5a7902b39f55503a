// Packs bytes into words and sums them up.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Bytes { uint8_t bytes[]; };
layout(std430, binding = 1) writeonly buffer Words { uint words[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint n = uint(bytes.length());
    uint word = 0u;
    for (uint k = 0u; k < 4u; ++k)
        word |= uint(bytes[(4u * i + k) % n]) << (8u * k);
    words[i] = word;
}

// Two sums of 64-bit integers without subgroup operations: NVK rejects them for Kepler to Pascal. Compile it, also
// without the GPU:
// vkgroup cost shaders/findings/add_int64_twice.comp --device nvk:gm107
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 64) in;

// Before, the numbers; after, each has been increased twice.
layout(binding = 0) buffer Data { uint64_t data[]; };

uint64_t bit_counts(uint64_t value) {
    uvec2 words = unpackUint2x32(value);
    return packUint2x32(uvec2(bitCount(words.x), bitCount(words.y)));
}

void main() {
    uint64_t value = data[gl_GlobalInvocationID.x];
    value += bit_counts(value);
    value += bit_counts(value);
    data[gl_GlobalInvocationID.x] = value;
}

// A 64-bit AND with a packed constant in a loop in a loop: NVK rejects it. Compile it, also without the GPU:
// vkgroup cost shaders/findings/and_int64_in_loops.comp --device nvk:ga104
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 64) in;

// Before, the numbers; after, those with all bits cleared that one of the three packed words lacks.
layout(binding = 0) buffer Data { uint64_t data[]; };

void main() {
    uint64_t value = data[gl_GlobalInvocationID.x];
    uint count = uint(value);
    for (uint outer = 0u; outer < min(count, 1u); ++outer)
        for (uint inner = 0u; inner < 3u; ++inner)
            value = packUint2x32(uvec2(inner * 7u + 2u, (inner * 7u + 2u) * 7u)) & value;
    data[gl_GlobalInvocationID.x] = value;
}

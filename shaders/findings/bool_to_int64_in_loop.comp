// A 64-bit 0 or 1 that is chosen in a loop, with both of its words used: RADV crashes. Compile it without the GPU:
// vkgroup cost shaders/findings/bool_to_int64_in_loop.comp --device radv:navi31,radv:vega10
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 64) in;

// data[0..63]: numbers of rounds, replaced by the low words; data[64..127]: the high words.
layout(binding = 0) buffer Data { uint data[]; };

void main() {
    uint rounds = data[gl_LocalInvocationIndex];
    uint64_t number = 0ul;
    for (uint k = 0u; k < rounds; ++k) {
        number = uint64_t(gl_SubgroupID); // 0 with subgroups of 64, because the workgroup then has one
        if ((gl_SubgroupInvocationID & 3u) == 0u)
            number = 1ul;
    }
    data[gl_LocalInvocationIndex] = unpackUint2x32(number).x;
    data[gl_LocalInvocationIndex + 64u] = unpackUint2x32(number).y;
}

// Two exclusive maxima of vectors of 64-bit integers in a loop: Turnip spills 819 values for Adreno 740, and none without
// the loop. Compile it, also without the GPU:
// vkgroup cost shaders/findings/max_int64_in_loop.comp --device turnip:740
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;

layout(binding = 0) readonly buffer Numbers { i64vec4 numbers[]; };
layout(binding = 1) buffer Maxima { i64vec4 maxima[]; };
layout(push_constant) uniform Constants { uint trips; };

void scan(uint vector, uint trip) {
    uint index = 64u * vector + gl_LocalInvocationIndex;
    maxima[index] += subgroupExclusiveMax(numbers[index] + int64_t(trip));
}

void main() {
    for (uint trip = 0u; trip < trips; ++trip) {
        scan(0u, trip);
        scan(1u, trip);
    }
}

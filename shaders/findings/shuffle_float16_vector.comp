// subgroupShuffle() of a computed vector of float16: Turnip crashes. Compile it, also without the GPU:
// vkgroup cost shaders/findings/shuffle_float16_vector.comp --device turnip:740
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 64) in;

// One word for each invocation: before, from which the vector is made; after, its first component.
layout(binding = 0) buffer Data { uint data[]; };

void main() {
    uint word = data[gl_GlobalInvocationID.x];
    f16vec3 value = f16vec3(float16_t(word & 15u), float16_t((word * 5u) & 15u), float16_t((word * 7u) & 15u));
    f16vec3 read = subgroupShuffle(min(f16vec3(1.0), value), gl_SubgroupInvocationID);
    data[gl_GlobalInvocationID.x] = uint(read.x);
}

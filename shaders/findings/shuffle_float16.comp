#version 460
// subgroupShuffle of a float16_t with gl_SubgroupInvocationID itself as the id, not a copy of it in a variable.
// On an affected driver the pipeline cannot be created (VK_ERROR_UNKNOWN).
// result: 1 in invocations with another value than their own.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    float16_t own = float16_t(index);
    float16_t got = subgroupShuffle(own, gl_SubgroupInvocationID);
    result[index] = packFloat2x16(f16vec2(got)) == packFloat2x16(f16vec2(own)) ? 0u : 1u;
}

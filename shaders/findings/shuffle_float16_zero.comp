#version 460
// subgroupShuffle of an f16vec2 with gl_SubgroupInvocationID itself as the id; one component is stored by a function.
// result: the bits of the invocation's number as float16_t; on an affected driver, zeros.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void put(uint at, f16vec2 value) {
    result[at] = packFloat2x16(f16vec2(value.x, float16_t(0.0)));
}

void main() {
    uint index = gl_LocalInvocationIndex;
    f16vec2 own = f16vec2(float16_t(index), float16_t(1.0));
    f16vec2 got = subgroupShuffle(own, gl_SubgroupInvocationID);
    put(index, got);
}

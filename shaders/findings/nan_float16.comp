#version 460
// subgroupMax of float16_t; lane 0 of each subgroup has 1000, lane 1 NaN, other lanes their number. The module requires
// NaN to be preserved (execution mode SignedZeroInfNanPreserve 16).
// The maximum of a NaN and another value is the other value, so the result is 1000 in every invocation.
// result: 1 in invocations with another result.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require

#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 16);
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint lane = gl_SubgroupInvocationID;
    float16_t own = lane == 1u ? unpackFloat2x16(0x7e00u).x : lane == 0u ? float16_t(1000.0) : float16_t(lane);
    result[gl_LocalInvocationIndex] = subgroupMax(own) == float16_t(1000.0) ? 0u : 1u;
}

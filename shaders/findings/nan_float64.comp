#version 460
// subgroupMax of double; lane 0 of each subgroup has 1000, lane 1 NaN, other lanes their number. The module requires
// NaN to be preserved (execution mode SignedZeroInfNanPreserve 64).
// The maximum of a NaN and another value is the other value, so the result is 1000 in every invocation.
// result: 1 in invocations with another result.
#extension GL_KHR_shader_subgroup_arithmetic : require

#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 64);
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint lane = gl_SubgroupInvocationID;
    double own = lane == 1u ? packDouble2x32(uvec2(0u, 0x7ff80000u)) : lane == 0u ? 1000.0LF : double(lane);
    result[gl_LocalInvocationIndex] = subgroupMax(own) == double(1000.0) ? 0u : 1u;
}

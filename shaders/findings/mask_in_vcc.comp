#version 460
// A switch with an arm that falls into the next one. Dispatch 1 workgroup with subgroups of 64, Inputs: 128 zeros;
// Outputs: 128 zeros before. Expected after: word 64 + i is 1 for each lane i, but 0 where i % 4 is 2. On an affected
// driver it is 0 for all lanes.
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) buffer Outputs { uint outputs[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint word = inputs[(gl_SubgroupInvocationID & 3u) != 2u ? i : i + 64u];
    u16vec2 value = u16vec2(word & 0xffffu, word >> 16);
    switch (gl_SubgroupInvocationID & 3u) {
    case 3u:
        outputs[i] = packUint2x16(subgroupExclusiveAdd(value));
    case 1u:
    case 0u:
        outputs[64u + i] = 1u;
        break;
    default:
        break;
    }
}

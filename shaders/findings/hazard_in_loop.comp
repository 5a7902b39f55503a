#version 460
// In a loop, a scalar register is written after the vector unit has read its neighbour, and then read without a wait.
// Dispatch 4 workgroups, Inputs: 193 words; Outputs: 1546 zeros before. On an affected driver the number of rounds depends
// on the hardware's timing; an emulated GPU reports the hazard.
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_KHR_shader_subgroup_clustered : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };

uint word(i16vec2 v) { return (uint(int(v.x)) & 0xffffu) | (uint(int(v.y)) & 0xffffu) << 16; }

void main() {
    uint i = gl_WorkGroupID.x * 64u + gl_LocalInvocationIndex;
    uint at = i * 8u;
    uint data = inputs[i];
    i16vec2 last = i16vec2(int16_t(data), int16_t(data * 5u + 1u));
    outputs[at++] = 1u;
    outputs[at++] = data * 7u;
    for (uint trip = 0u; trip < (gl_WorkGroupID.x & 3u);) {
        ++trip;
        i16vec2 least = subgroupClusteredMin(i16vec2(4, 1), 4u);
        outputs[at++] = 3u;
        outputs[at++] = word(least);
        last = least;
    }
    outputs[at++] = 15u;
    outputs[at++] = word(last);
}

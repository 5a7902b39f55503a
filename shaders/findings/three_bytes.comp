#version 460
// Vectors of three bytes, and the subgroup's number, lane and size, which keep other registers in use.
// Dispatch 1 workgroup, Inputs: 0; Outputs: 11 zeros before. Expected: word 6 is 0x1a1104, which is bytes(0) | word 8.
// On an affected driver it is 0x61104.
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) writeonly buffer Outputs { uint outputs[]; };

u8vec3 bytes(uint w) { return u8vec3(uint8_t(w), uint8_t(w * 5u + 1u), uint8_t(w * 7u + 2u)); }
uint word(u8vec3 v) { return uint(v.x) | uint(v.y) << 8 | uint(v.z) << 16; }

void main() {
    uint i = gl_WorkGroupID.x + gl_LocalInvocationIndex;
    uint at = i * 12u;
    outputs[at++] = gl_SubgroupID;
    outputs[at++] = gl_SubgroupInvocationID;
    outputs[at++] = gl_SubgroupSize;
    uint data = inputs[i];
    u8vec3 a = bytes(data);
    u8vec3 b = bytes(data * 3u + 1u);
    uint c = data * 5u + 2u;
    b = (b | bytes(c)) + u8vec3(1);
    a = a | b;
    outputs[at++] = 5u;
    outputs[at++] = 0u;
    outputs[at++] = 12u;
    outputs[at++] = word(a);
    outputs[at++] = 13u;
    outputs[at++] = word(b);
    outputs[at++] = 14u;
    outputs[at++] = c;
}

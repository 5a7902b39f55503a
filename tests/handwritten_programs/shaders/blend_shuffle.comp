#version 460
// The text's fragment shader for subgroupShuffle as a compute shader: blends each value with another invocation's.
// Needs full subgroups. x: one vec4 an invocation. indices: whose value to take, modulo the size of the subgroup.
// data: half of the one and half of the other. lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) readonly buffer Indices { uint indices[]; };
layout(std430, binding = 2) writeonly buffer Data { vec4 data[]; };
layout(std430, binding = 3) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    vec4 blendWith = subgroupShuffle(x[index], indices[index] % gl_SubgroupSize);
    data[index] = mix(x[index], blendWith, 0.5);
    lanes[index] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

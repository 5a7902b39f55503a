#version 460
// The text's strided scan as a compute shader, on integers: even lanes multiply with even ones, odd with odd.
// Needs full subgroups. x: one uvec4 an invocation. data: product of every second value of the subgroup down from this
// one. lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle_relative : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer X { uvec4 x[]; };
layout(std430, binding = 1) writeonly buffer Data { uvec4 data[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uvec4 temp = x[gl_GlobalInvocationID.x];
    for (uint i = 2; i < gl_SubgroupSize; i *= 2) {
        uvec4 other = subgroupShuffleUp(temp, i);
        if (i <= gl_SubgroupInvocationID) {
            temp = temp * other;
        }
    }
    data[gl_GlobalInvocationID.x] = temp;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

#version 460
// The text's reduction by subgroupShuffleXor as a compute shader, on integers, whose result is exact. Needs full
// subgroups. x: one uvec4 an invocation. data: the reduction of the subgroup, different in each invocation, since a * b + additive
// is not associative. lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 128) in;
layout(push_constant) uniform Push { uint additive; };
layout(std430, binding = 0) readonly buffer X { uvec4 x[]; };
layout(std430, binding = 1) writeonly buffer Data { uvec4 data[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uvec4 temp = x[gl_GlobalInvocationID.x];
    for (uint i = 1; i <= 128; i *= 2) {
        // The loop's end is constant so that the mask derives from a loop counter with constant ends.
        if (gl_SubgroupSize == i) {
            break;
        }
        uvec4 other = subgroupShuffleXor(temp, i);
        temp = temp * other + additive * gl_SubgroupInvocationID;
    }
    data[gl_GlobalInvocationID.x] = temp;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

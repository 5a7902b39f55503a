#version 460
// The text's reverse scan as a compute shader, on integers. Needs full subgroups.
// x: one uvec4 an invocation. data: product of the subgroup's values from this one upwards.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle_relative : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer X { uvec4 x[]; };
layout(std430, binding = 1) writeonly buffer Data { uvec4 data[]; };
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    uvec4 temp = x[gl_GlobalInvocationID.x];
    for (uint i = 1; i < gl_SubgroupSize; i *= 2) {
        uvec4 other = subgroupShuffleDown(temp, i);
        if ((gl_SubgroupSize - i) > gl_SubgroupInvocationID) {
            temp = temp * other;
        }
    }
    data[gl_GlobalInvocationID.x] = temp;
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}

#version 450
// An inclusive scan from the highest lane of the subgroup to the lowest.
// x: one vec4 per fragment. data: the product of the subgroup's values from this one upwards.
// given, lane: x as interpolated; the pixel of the subgroup's first lane, and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(location = 0) in vec4 x;

layout(location = 0) out vec4 data;
layout(location = 1) out vec4 given;
layout(location = 2) out uvec2 lane;

void main() {
    vec4 temp = x;
    for (uint i = 1; i < gl_SubgroupSize; i *= 2) {
        vec4 other = subgroupShuffleDown(temp, i);
        if ((gl_SubgroupSize - i) > gl_SubgroupInvocationID) {
            temp = temp * other;
        }
    }
    data = temp;

    given = x;
    lane = uvec2(subgroupBroadcastFirst(uint(gl_FragCoord.y) << 16 | uint(gl_FragCoord.x)), gl_SubgroupInvocationID);
}

#version 450
// The tutorial's own reduction over the subgroup: each fragment exchanges its value with one at a doubled distance.
// x: one vec4 per fragment. additive: added in each step. data: the reduction.
// given, lane: x as interpolated; the pixel of the subgroup's first lane, and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(location = 0) in vec4 x;
layout(location = 1) in float additive;

layout(location = 0) out vec4 data;
layout(location = 1) out vec4 given;
layout(location = 2) out float added;
layout(location = 3) out uvec2 lane;

void main() {
    vec4 temp = x;
    for (uint i = 1; i <= 128; i *= 2) {
        // The mask must be constant or derive from a loop counter with constant start, stride and end. The loop
        // therefore runs to 128, the largest possible size, and is exited at the end of the subgroup.
        if (gl_SubgroupSize == i) {
            break;
        }
        vec4 other = subgroupShuffleXor(temp, i);
        temp = temp * other + additive;
    }
    data = temp;

    given = x;
    added = additive;
    lane = uvec2(subgroupBroadcastFirst(uint(gl_FragCoord.y) << 16 | uint(gl_FragCoord.x)), gl_SubgroupInvocationID);
}

#version 450
// Blends each fragment's value with that of another fragment of its subgroup.
// index: gl_SubgroupInvocationID of the other fragment. x: the value. blendFactor: weight of the other value.
// data: the blend. given, factor, lane: data for the host to compute the expected blend: x and blendFactor as
// interpolated, and the pixel of the subgroup's first lane with this fragment's gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(location = 0) flat in uint index;
layout(location = 1) in vec4 x;
layout(location = 2) in float blendFactor;

layout(location = 0) out vec4 data;
layout(location = 1) out vec4 given;
layout(location = 2) out float factor;
layout(location = 3) out uvec2 lane;

void main() {
    vec4 blendWith = subgroupShuffle(x, index);
    data = mix(x, blendWith, blendFactor);

    given = x;
    factor = blendFactor;
    lane = uvec2(subgroupBroadcastFirst(uint(gl_FragCoord.y) << 16 | uint(gl_FragCoord.x)), gl_SubgroupInvocationID);
}

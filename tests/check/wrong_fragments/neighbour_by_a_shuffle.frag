#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_basic : require

// The difference to the right neighbour by a shuffle; the neighbour may be a helper invocation.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    float other = subgroupShuffleXor(uv.x, 1u); // expect: undefined
    color = vec4(abs(other - uv.x), uv, 1.0);
}

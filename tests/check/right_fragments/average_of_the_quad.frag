#version 450
#extension GL_KHR_shader_subgroup_quad : require

// The average of a quad, helper invocations included: quad operations may rely on them.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    vec2 row = uv + subgroupQuadSwapHorizontal(uv);
    vec2 all = row + subgroupQuadSwapVertical(row);
    color = vec4(all * 0.25, uv);
}

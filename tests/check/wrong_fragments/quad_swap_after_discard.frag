#version 450
#extension GL_KHR_shader_subgroup_quad : require

// The average of the neighbours in a row, after some of them are discarded.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    if (int(gl_FragCoord.x) % 3 == 0) {
        discard;
    }
    float other = subgroupQuadSwapHorizontal(uv.x); // expect: undefined
    color = vec4((uv.x + other) * 0.5);
}

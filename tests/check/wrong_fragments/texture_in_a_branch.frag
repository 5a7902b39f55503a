#version 450

// A detail texture, sampled only in the bright part of a base color.
layout(location = 0) in vec2 uv;
layout(location = 1) in vec3 base;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D detail;

void main()
{
    vec3 result = base;
    if (base.x > 0.5) {
        result *= texture(detail, uv).rgb; // expect: undefined
    }
    color = vec4(result, 1.0);
}

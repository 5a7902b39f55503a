#version 450

// A texture in a divergent branch, with derivatives from before it.
layout(location = 0) in vec2 uv;
layout(location = 1) in vec3 base;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D detail;

void main()
{
    vec2 along_x = dFdx(uv), along_y = dFdy(uv);
    vec3 result = base;
    if (base.x > 0.5) {
        result *= textureGrad(detail, uv, along_x, along_y).rgb;
    }
    color = vec4(result, 1.0);
}

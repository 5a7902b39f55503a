#version 450

// Alpha test: the texture is sampled before discard.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D albedo;

void main()
{
    vec4 texel = texture(albedo, uv);
    if (texel.a < 0.3) {
        discard;
    }
    color = texel;
}

#version 450

// Cut-out with a mask in a buffer: the color is sampled after discard.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D albedo;

void main()
{
    ivec2 cell = ivec2(gl_FragCoord.xy);
    if ((cell.x + cell.y) % 3 == 0) {
        discard;
    }
    color = texture(albedo, uv); // expect: undefined
}

#version 450
#extension GL_EXT_demote_to_helper_invocation : require

// Cut-out with demote, which keeps the quad complete for the texture.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D albedo;

void main()
{
    ivec2 cell = ivec2(gl_FragCoord.xy);
    if ((cell.x + cell.y) % 3 == 0) {
        demote;
    }
    color = texture(albedo, uv);
}

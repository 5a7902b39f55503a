#version 450

// Two color attachments of different types, flat and interpolated inputs, push constants.
layout(location = 0) in vec4 tint;
layout(location = 1) flat in uint material;
layout(location = 2) flat in ivec2 offset;
layout(location = 3) noperspective in float depth;
layout(location = 0) out vec3 color;
layout(location = 1) out uvec2 identity;
layout(push_constant) uniform Push { float gain; };

void main()
{
    color = tint.rgb * gain + depth;
    identity = uvec2(material, uint(offset.x + offset.y) * 8u + uint(gl_PrimitiveID));
}

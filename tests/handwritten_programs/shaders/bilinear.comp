#version 460
// Enlarges a picture by bilinear interpolation, as a sampler with clamped coordinates would.
// picture: small, four floats a texel. enlarged: `factor` times as wide and high.

layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { int factor; };
layout(rgba32f, binding = 0) uniform readonly image2D picture;
layout(rgba32f, binding = 1) uniform writeonly image2D enlarged;

vec4 texel(ivec2 at) {
    return imageLoad(picture, clamp(at, ivec2(0), imageSize(picture) - 1));
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(enlarged)))) return;
    vec2 place = (vec2(at) + 0.5) / float(factor) - 0.5, corner = floor(place), part = place - corner;
    ivec2 low = ivec2(corner);
    vec4 above = mix(texel(low), texel(low + ivec2(1, 0)), part.x);
    vec4 below = mix(texel(low + ivec2(0, 1)), texel(low + ivec2(1, 1)), part.x);
    imageStore(enlarged, at, mix(above, below, part.y));
}

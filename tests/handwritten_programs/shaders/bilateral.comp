#version 460
// A filter that keeps edges: a mean of 5 x 5 pixels, weighted by distance and by difference in value.
// picture: floats. filtered: floats. Pixels beyond the edge do not count. The weights are rational functions.

layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { float sharpness; };
layout(r32f, binding = 0) uniform readonly image2D picture;
layout(r32f, binding = 1) uniform writeonly image2D filtered;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (any(greaterThanEqual(at, size))) return;
    float centre = imageLoad(picture, at).r, sum = 0.0, weights = 0.0;
    for (int dy = -2; dy <= 2; dy++) {
        for (int dx = -2; dx <= 2; dx++) {
            ivec2 there = at + ivec2(dx, dy);
            if (any(lessThan(there, ivec2(0))) || any(greaterThanEqual(there, size))) continue;
            float value = imageLoad(picture, there).r, difference = value - centre;
            float weight = 1.0 / (float(1 + dx * dx + dy * dy) + sharpness * difference * difference);
            sum += weight * value;
            weights += weight;
        }
    }
    imageStore(filtered, at, vec4(sum / weights));
}

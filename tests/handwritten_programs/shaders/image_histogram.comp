#version 460
// Histogram of a picture's brightness in an image, by image atomics; and the brightest pixel.
// picture: bytes, four channels. histogram: 32 counts; 0 before. extremes: greatest and least brightness at 0 and 1;
// 0 and 0xffffffff before.

layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba8ui, binding = 0) uniform readonly uimage2D picture;
layout(r32ui, binding = 1) uniform uimage1D histogram;
layout(r32ui, binding = 2) uniform uimage1D extremes;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(picture)))) return;
    uvec4 color = imageLoad(picture, at);
    uint brightness = (54u * color.r + 183u * color.g + 19u * color.b) / 256u;
    imageAtomicAdd(histogram, int(brightness / 8u), 1u);
    imageAtomicMax(extremes, 0, brightness);
    imageAtomicMin(extremes, 1, brightness);
}

// Draws a plane with a texture, into an image.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D tiles;
layout(binding = 1, rgba8) uniform writeonly image2D screen;
void main() {
    vec2 place = (vec2(gl_GlobalInvocationID.xy) + 0.5) / vec2(imageSize(screen));
    imageStore(screen, ivec2(gl_GlobalInvocationID.xy), textureLod(tiles, place * 2.0, 0.0));
}

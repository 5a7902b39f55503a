// Horizontal average of a picture, read and written at once.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32f) uniform image2D picture;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(picture);
    float left = imageLoad(picture, ivec2(max(p.x - 1, 0), p.y)).x;
    float here = imageLoad(picture, p).x;
    imageStore(picture, p, vec4(0.5 * (left + here))); // expect: race
}

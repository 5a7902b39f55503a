// Adds a frame to an image that collects light; nobody has cleared it.
// run: --out collected
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32f) uniform readonly image2D frame;
layout(binding = 1, r32f) uniform image2D collected;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    float light = imageLoad(collected, p).r + imageLoad(frame, p).r; // expect: undefined
    imageStore(collected, p, vec4(light));
}

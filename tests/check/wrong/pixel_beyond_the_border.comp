// Shifts a picture by one pixel to the left.
#version 460
layout(local_size_x = 8, local_size_y = 4) in;
layout(binding = 0, rgba32f) uniform readonly image2D source;
layout(binding = 1, rgba32f) uniform writeonly image2D target;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    imageStore(target, p, imageLoad(source, p + ivec2(1, 0))); // expect: bounds
}

// Iterations until a point leaves the circle of radius 2; every lane ends when it likes.
// run: --groups 2,2
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32ui) uniform writeonly uimage2D iterations;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec2 c = vec2(p) / vec2(imageSize(iterations)) * vec2(3.0, 2.0) - vec2(2.25, 1.125);
    vec2 z = vec2(0.0);
    uint n = 0u;
    while (n < 24u && dot(z, z) < 4.0) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        ++n;
    }
    imageStore(iterations, p, uvec4(n));
}

#version 460
// Sobel's edges of a grey image; pixels beyond the edge are those of the edge.
// picture: grey values. edges: sum of the absolute gradients in x and y, the direction's octant above bit 16.

layout(local_size_x = 8, local_size_y = 8) in;
layout(r32ui, binding = 0) uniform readonly uimage2D picture;
layout(r32ui, binding = 1) uniform writeonly uimage2D edges;

int pixel(ivec2 at) {
    return int(imageLoad(picture, clamp(at, ivec2(0), imageSize(picture) - 1)).x);
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(picture)))) return;
    ivec2 gradient = ivec2(0);
    for (int k = -1; k <= 1; k++) {
        int weight = 2 - abs(k);
        gradient.x += weight * (pixel(at + ivec2(1, k)) - pixel(at + ivec2(-1, k)));
        gradient.y += weight * (pixel(at + ivec2(k, 1)) - pixel(at + ivec2(k, -1)));
    }
    ivec2 size = abs(gradient);
    uint octant = (gradient.x < 0 ? 1u : 0u) | (gradient.y < 0 ? 2u : 0u) | (size.x < size.y ? 4u : 0u);
    imageStore(edges, at, uvec4(uint(size.x + size.y) | octant << 16, 0u, 0u, 0u));
}

#version 460
// Median of 3 x 3 pixels for each of four channels, by a sorting network on local variables.
// picture: bytes. filtered: the medians; the edge is copied.

layout(local_size_x = 8, local_size_y = 4) in;
layout(rgba8ui, binding = 0) uniform readonly uimage2D picture;
layout(rgba8ui, binding = 1) uniform writeonly uimage2D filtered;

void order(inout uvec4 a, inout uvec4 b) {
    uvec4 low = min(a, b);
    b = max(a, b);
    a = low;
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (at.x >= size.x || at.y >= size.y) return;
    uvec4 result = imageLoad(picture, at);
    if (at.x > 0 && at.y > 0 && at.x < size.x - 1 && at.y < size.y - 1) {
        uvec4 p[9];
        for (int k = 0; k < 9; k++) p[k] = imageLoad(picture, at + ivec2(k % 3 - 1, k / 3 - 1));
        // Rows sorted; then the greatest of the low, the median of the middle and the least of the high ones.
        for (int row = 0; row < 9; row += 3) {
            order(p[row], p[row + 1]);
            order(p[row + 1], p[row + 2]);
            order(p[row], p[row + 1]);
        }
        uvec4 low = max(max(p[0], p[3]), p[6]), high = min(min(p[2], p[5]), p[8]);
        order(p[1], p[4]);
        order(p[4], p[7]);
        order(p[1], p[4]);
        order(low, p[4]);
        order(p[4], high);
        order(low, p[4]);
        result = p[4];
    }
    imageStore(filtered, at, result);
}

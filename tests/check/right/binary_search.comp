// Place of each value among the squares.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Roots { uint roots[]; };
void main() {
    uint v = values[gl_GlobalInvocationID.x];
    uint low = 0u, high = 64u;
    while (low + 1u < high) {
        uint middle = (low + high) >> 1;
        if (middle * middle <= v) low = middle;
        else high = middle;
    }
    roots[gl_GlobalInvocationID.x] = low;
}

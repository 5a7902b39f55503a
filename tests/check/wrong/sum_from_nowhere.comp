// Row sums of a matrix of 16 columns.
#version 460
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer Matrix { float m[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { float sums[]; };
void main() {
    uint row = gl_GlobalInvocationID.x;
    float sum; // expect: undefined
    for (uint column = 0u; column < 16u && row * 16u + column < uint(m.length()); ++column)
        sum += m[row * 16u + column];
    sums[row] = sum;
}

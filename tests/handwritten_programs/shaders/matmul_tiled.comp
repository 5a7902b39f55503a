#version 460
// Matrix product C = A B by tiles in shared memory; the tile is a specialization constant, and so is the workgroup.
// a: rows x inner floats. b: inner x columns. c: rows x columns. Tiles over the edge are filled with zeros.

layout(local_size_x = 16, local_size_y = 16, local_size_x_id = 0, local_size_y_id = 0) in;
layout(constant_id = 0) const uint TILE = 16u;
layout(push_constant) uniform Push { uint rows, inner, columns; };
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };

shared float a_tile[TILE][TILE + 1u];
shared float b_tile[TILE][TILE + 1u];

void main() {
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    float sum = 0.0;
    for (uint start = 0u; start < inner; start += TILE) {
        a_tile[y][x] = row < rows && start + x < inner ? a[row * inner + start + x] : 0.0;
        b_tile[y][x] = start + y < inner && column < columns ? b[(start + y) * columns + column] : 0.0;
        barrier();
        for (uint k = 0u; k < TILE; k++) sum += a_tile[y][k] * b_tile[k][x];
        barrier();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

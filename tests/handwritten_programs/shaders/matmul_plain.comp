#version 460
// Matrix product C = A B, one element an invocation, without shared memory.
// a: rows x inner floats. b: inner x columns. c: rows x columns.

layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uint rows, inner, columns; };
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };

void main() {
    uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    if (row >= rows || column >= columns) return;
    float sum = 0.0;
    for (uint k = 0u; k < inner; k++) sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}

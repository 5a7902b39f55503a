// Products of 3 x 4 matrices with vectors, column- and row-major.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Columns { mat4x3 m[]; } columns;
layout(std430, row_major, binding = 1) readonly buffer Rows { mat4x3 m[]; } rows;
layout(std430, binding = 2) writeonly buffer Results { vec3 r[]; } results;
layout(std140, binding = 3) uniform Direction { vec4 direction; mat2 turn; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 one = columns.m[i] * direction;
    vec3 two = rows.m[i] * direction;
    results.r[i] = cross(one, two) + vec3(turn * one.xy, 0.0);
}

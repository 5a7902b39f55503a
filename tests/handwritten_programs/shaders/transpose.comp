#version 460
// Transposes a matrix by tiles in shared memory, with a column of padding.
// matrix: rows x columns uints. transposed: columns x rows.

layout(local_size_x = 16, local_size_y = 8) in;
layout(push_constant) uniform Push { uint rows, columns; };
layout(std430, binding = 0) readonly buffer Matrix { uint matrix[]; };
layout(std430, binding = 1) writeonly buffer Transposed { uint transposed[]; };

shared uint tile[16][16 + 1];

void main() {
    uvec2 me = gl_LocalInvocationID.xy, corner = gl_WorkGroupID.xy * 16u;
    for (uint y = me.y; y < 16u; y += gl_WorkGroupSize.y) {
        uvec2 at = corner + uvec2(me.x, y);
        if (at.x < columns && at.y < rows) tile[y][me.x] = matrix[at.y * columns + at.x];
    }
    barrier();
    for (uint y = me.y; y < 16u; y += gl_WorkGroupSize.y) {
        uvec2 at = corner.yx + uvec2(me.x, y);
        if (at.x < rows && at.y < columns) transposed[at.y * rows + at.x] = tile[me.x][y];
    }
}

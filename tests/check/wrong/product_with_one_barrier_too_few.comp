// C = A B for matrices of 16 x 16, in tiles of 8 x 8.
// run: --groups 2,2 --push n=16
#version 460
#define TILE 8
layout(local_size_x = TILE, local_size_y = TILE) in;
layout(std430, binding = 0) readonly buffer MatrixA { float a[]; };
layout(std430, binding = 1) readonly buffer MatrixB { float b[]; };
layout(std430, binding = 2) writeonly buffer MatrixC { float c[]; };
layout(push_constant) uniform Push { uint n; };

shared float tile_a[TILE][TILE];
shared float tile_b[TILE][TILE];

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    uvec2 t = gl_LocalInvocationID.xy;
    float sum = 0.0;
    for (uint k = 0u; k < n; k += TILE) {
        tile_a[t.y][t.x] = a[at.y * n + k + t.x]; // expect: race
        tile_b[t.y][t.x] = b[(k + t.y) * n + at.x]; // expect: race
        barrier();
        for (uint j = 0u; j < TILE; ++j)
            sum = fma(tile_a[t.y][j], tile_b[j][t.x], sum);
    }
    c[at.y * n + at.x] = sum;
}

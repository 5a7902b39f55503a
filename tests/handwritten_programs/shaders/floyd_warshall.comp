#version 460
// Shortest paths between all pairs of 32 vertices by Floyd's and Warshall's method in shared memory.
// distances: length of the edge from row to column, NONE where there is none; lengths of the shortest paths afterwards.

layout(local_size_x = 16, local_size_y = 16) in;
const uint N = 32u, NONE = 0xffffffffu;
layout(std430, binding = 0) buffer Distances { uint distances[]; };

shared uint shortest[N][N];

void main() {
    uvec2 me = gl_LocalInvocationID.xy;
    for (uint y = me.y; y < N; y += 16u) {
        for (uint x = me.x; x < N; x += 16u) shortest[y][x] = distances[y * N + x];
    }
    barrier();
    for (uint by = 0u; by < N; by++) {
        // Row and column `by` do not change in this step, since the way from `by` to itself is 0 long.
        for (uint y = me.y; y < N; y += 16u) {
            uint first = shortest[y][by];
            if (first == NONE) continue;
            for (uint x = me.x; x < N; x += 16u) {
                uint second = shortest[by][x];
                if (second != NONE && first + second < shortest[y][x]) shortest[y][x] = first + second;
            }
        }
        barrier();
    }
    for (uint y = me.y; y < N; y += 16u) {
        for (uint x = me.x; x < N; x += 16u) distances[y * N + x] = shortest[y][x];
    }
}

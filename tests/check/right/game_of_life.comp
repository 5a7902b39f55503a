// One generation of Conway's game on a torus of 16 x 16 cells.
// run: --groups 2,2
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) readonly buffer Now { uint now[]; };
layout(binding = 1) writeonly buffer Next { uint next[]; };
const uint N = 16u;
uint cell(ivec2 p) {
    p = (p + ivec2(N)) % ivec2(N);
    return now[uint(p.y) * N + uint(p.x)] & 1u;
}
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    uint alive = 0u;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0)
                alive += cell(p + ivec2(dx, dy));
    bool lives = alive == 3u || (alive == 2u && cell(p) == 1u);
    next[uint(p.y) * N + uint(p.x)] = lives ? 1u : 0u;
}

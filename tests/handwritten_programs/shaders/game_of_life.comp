#version 460
// Conway's game of life on a torus of 32 x 32 cells, several generations in shared memory by one workgroup.
// cells: 0 or 1 in place.

layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint generations; };
layout(std430, binding = 0) buffer Cells { uint cells[32][32]; };

shared uint board[2][32][32];

uint neighbours(uint now, uvec2 at) {
    uint sum = 0u;
    for (uint dy = 31u; dy <= 33u; dy++) {
        for (uint dx = 31u; dx <= 33u; dx++) {
            if (dx == 32u && dy == 32u) continue;
            sum += board[now][(at.y + dy) % 32u][(at.x + dx) % 32u];
        }
    }
    return sum;
}

void main() {
    uvec2 me = gl_LocalInvocationID.xy;
    uint now = 0u;
    for (uint part = 0u; part < 4u; part++) {
        uvec2 at = me + 16u * uvec2(part % 2u, part / 2u);
        board[0][at.y][at.x] = cells[at.y][at.x];
    }
    barrier();
    for (uint generation = 0u; generation < generations; generation++) {
        for (uint part = 0u; part < 4u; part++) {
            uvec2 at = me + 16u * uvec2(part % 2u, part / 2u);
            uint around = neighbours(now, at);
            board[1u - now][at.y][at.x] = around == 3u || (around == 2u && board[now][at.y][at.x] == 1u) ? 1u : 0u;
        }
        now = 1u - now;
        barrier();
    }
    for (uint part = 0u; part < 4u; part++) {
        uvec2 at = me + 16u * uvec2(part % 2u, part / 2u);
        cells[at.y][at.x] = board[now][at.y][at.x];
    }
}

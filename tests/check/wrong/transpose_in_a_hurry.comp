// Transposes tiles of 8 x 8; one workgroup a tile.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) readonly buffer Source { int source[]; };
layout(binding = 1) writeonly buffer Target { int target[]; };
shared int tile[8][9];
void main() {
    uvec2 p = gl_LocalInvocationID.xy;
    uint tile_start = gl_WorkGroupID.x * 64u;
    tile[p.y][p.x] = source[tile_start + gl_LocalInvocationIndex];
    memoryBarrierShared();
    target[tile_start + gl_LocalInvocationIndex] = tile[p.x][p.y]; // expect: race
}

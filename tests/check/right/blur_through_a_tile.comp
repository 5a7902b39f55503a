// Three-point blur with a tile in shared memory and its two halo cells.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Source { float source[]; };
layout(std430, binding = 1) writeonly buffer Blurred { float blurred[]; };
shared float tile[66];
void main() {
    uint t = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x;
    uint last = uint(source.length()) - 1u;
    tile[t + 1u] = source[min(i, last)];
    if (t == 0u)
        tile[0] = source[i == 0u ? 0u : i - 1u];
    if (t == 63u)
        tile[65] = source[min(i + 1u, last)];
    barrier();
    blurred[i] = (tile[t] + 2.0 * tile[t + 1u] + tile[t + 2u]) * 0.25;
}

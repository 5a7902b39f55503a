// Three-point minimum through shared memory, with a halo that the tile has no room for.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Source { int source[]; };
layout(binding = 1) writeonly buffer Eroded { int eroded[]; };
shared int tile[32];
void main() {
    uint t = gl_LocalInvocationIndex;
    tile[t] = source[gl_GlobalInvocationID.x];
    barrier();
    int smallest = tile[t];
    if (t > 0u)
        smallest = min(smallest, tile[t - 1u]);
    smallest = min(smallest, tile[t + 1u]); // expect: bounds
    eroded[gl_GlobalInvocationID.x] = smallest;
}

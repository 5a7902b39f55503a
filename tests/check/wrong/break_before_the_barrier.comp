// Jacobi iterations on 16 cells until a cell has settled.
#version 460
layout(local_size_x = 16) in;
layout(binding = 0) buffer Cells { float cell[]; };
shared float u[16];
void main() {
    uint t = gl_LocalInvocationIndex;
    u[t] = cell[gl_GlobalInvocationID.x];
    barrier();
    for (int iteration = 0; iteration < 8; ++iteration) {
        float next = 0.5 * (u[(t + 15u) & 15u] + u[(t + 1u) & 15u]);
        if (abs(next - u[t]) < 0.125)
            break;
        barrier(); // expect: barrier
        u[t] = next;
        barrier(); // expect: barrier
    }
    cell[gl_GlobalInvocationID.x] = u[t];
}

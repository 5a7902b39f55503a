// Jacobi iterations whose number comes from a push constant, and which stop early for the whole workgroup.
#version 460
layout(local_size_x = 16) in;
layout(binding = 0) buffer Cells { float cell[]; };
layout(push_constant) uniform Push { uint iterations; };
shared float u[16];
shared uint moving;
void main() {
    uint t = gl_LocalInvocationIndex;
    u[t] = cell[gl_GlobalInvocationID.x];
    for (uint k = 0u; k < min(iterations, 10u); ++k) {
        if (t == 0u)
            moving = 0u;
        barrier();
        float next = 0.5 * (u[(t + 15u) & 15u] + u[(t + 1u) & 15u]);
        if (abs(next - u[t]) > 0.25)
            atomicOr(moving, 1u);
        barrier();
        u[t] = next;
        if (moving == 0u)
            break;
        barrier();
    }
    cell[gl_GlobalInvocationID.x] = u[t];
}

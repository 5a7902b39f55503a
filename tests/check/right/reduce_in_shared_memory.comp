// Largest value of a workgroup; the classic tree, with its barriers.
#version 460
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer Input { int g_in[]; };
layout(binding = 1) writeonly buffer Output { int g_out[]; };
shared int s[128];
void main() {
    uint t = gl_LocalInvocationID.x;
    s[t] = g_in[gl_GlobalInvocationID.x];
    barrier();
    for (uint h = 64u; h > 0u; h >>= 1) {
        if (t < h)
            s[t] = max(s[t], s[t + h]);
        barrier();
    }
    if (t == 0u)
        g_out[gl_WorkGroupID.x] = s[0];
}

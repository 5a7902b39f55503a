// Inclusive prefix sum in shared memory, by Hillis and Steele, between two buffers.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint s[2][64];
void main() {
    uint t = gl_LocalInvocationID.x;
    uint from = 0u;
    s[0][t] = data[gl_GlobalInvocationID.x];
    barrier();
    for (uint d = 1u; d < 64u; d <<= 1) {
        uint v = s[from][t];
        if (t >= d)
            v += s[from][t - d];
        s[1u - from][t] = v;
        from = 1u - from;
        barrier();
    }
    data[gl_GlobalInvocationID.x] = s[from][t];
}

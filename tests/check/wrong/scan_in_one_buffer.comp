// Inclusive prefix sum of a workgroup; a barrier is needed between the read and the write of a step, too.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint s[64];
void main() {
    uint t = gl_LocalInvocationID.x;
    s[t] = data[gl_GlobalInvocationID.x];
    barrier();
    for (uint d = 1u; d < 64u; d <<= 1) {
        uint v = s[t];
        if (t >= d)
            v += s[t - d];
        s[t] = v; // expect: race
        barrier();
    }
    data[gl_GlobalInvocationID.x] = s[t];
}

#version 460
// Fourier transform of 64 complex values, radix 2 in shared memory (Stockham: no reordering at the end).
// signal: 64 vec2 a workgroup. roots: exp(-2 pi i k / 64) for k below 32. spectrum: the transform.

layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Signal { vec2 signal[]; };
layout(std140, binding = 1) uniform Roots { vec2 roots[32]; };
layout(std430, binding = 2) writeonly buffer Spectrum { vec2 spectrum[]; };

shared vec2 work[2][64];

vec2 times(vec2 a, vec2 b) {
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

void main() {
    uint me = gl_LocalInvocationIndex, start = gl_WorkGroupID.x * 64u, from = 0u;
    work[0][me] = signal[start + me];
    work[0][me + 32u] = signal[start + me + 32u];
    barrier();
    for (uint half_length = 1u; half_length < 64u; half_length *= 2u) {
        uint k = me % half_length;
        vec2 even = work[from][me], odd = times(roots[k * (32u / half_length)], work[from][me + 32u]);
        uint place = (me - k) * 2u + k;
        from = 1u - from;
        work[from][place] = even + odd;
        work[from][place + half_length] = even - odd;
        barrier();
    }
    spectrum[start + me] = work[from][me];
    spectrum[start + me + 32u] = work[from][me + 32u];
}

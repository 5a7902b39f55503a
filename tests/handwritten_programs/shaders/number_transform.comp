#version 460
// Number-theoretic transform of 128 values modulo 65537, decimation in frequency, and the order put right at the end.
// values: 128 uints below 65537 a workgroup. transformed: the sums of values[j] root^(j k). root: of order 128.

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint root; };
layout(std430, binding = 0) readonly buffer Values { uint values[][128]; };
layout(std430, binding = 1) writeonly buffer Transformed { uint transformed[][128]; };

const uint PRIME = 65537u;
shared uint work[128];

// 2^16 is -1 and 2^32 is 1 modulo 65537; only 65536 * 65536 has a bit above 31.
uint times(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    uint folded = (low & 0xffffu) + PRIME - (low >> 16) + high;
    return folded >= PRIME ? folded - PRIME : folded;
}

uint power(uint base, uint exponent) {
    uint result = 1u;
    while (exponent > 0u) {
        if ((exponent & 1u) == 1u) result = times(result, base);
        base = times(base, base);
        exponent /= 2u;
    }
    return result;
}

void main() {
    uint me = gl_LocalInvocationIndex, row = gl_WorkGroupID.x;
    work[me] = values[row][me];
    work[me + 64u] = values[row][me + 64u];
    for (uint reach = 64u; reach > 0u; reach /= 2u) {
        barrier();
        uint k = me % reach, at = (me - k) * 2u + k;
        uint low = work[at], high = work[at + reach];
        work[at] = (low + high) % PRIME;
        work[at + reach] = times((low + PRIME - high) % PRIME, power(root, k * (64u / reach)));
    }
    barrier();
    for (uint at = me; at < 128u; at += 64u) transformed[row][bitfieldReverse(at) >> 25] = work[at];
}

#version 460
// SHA-256 of messages of up to 55 bytes, one an invocation.
// messages: 14 words of each (bytes in the order of memory), then its length in bytes. digests: eight words each.

layout(local_size_x = 32) in;
struct Message {
    uint words[14];
    uint byte_count;
};
layout(std430, binding = 0) readonly buffer Messages { Message messages[]; };
layout(std430, binding = 1) writeonly buffer Digests { uint digests[][8]; };

// Fractional parts of the cube roots of the first 64 primes.
const uint K[64] = uint[](
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u);

uint swap_bytes(uint word) {
    word = (word & 0x00ff00ffu) << 8 | (word >> 8 & 0x00ff00ffu);
    return word << 16 | word >> 16;
}

uint rotate(uint word, int count) { return word >> count | word << (32 - count); }

void pad(uint which, out uint schedule[64]) {
    uint length = messages[which].byte_count;
    for (uint k = 0u; k < 16u; k++) {
        uint word = k < 14u ? swap_bytes(messages[which].words[k]) : 0u;
        int kept = clamp(int(length) - 4 * int(k), 0, 4);
        word = kept == 0 ? 0u : word & 0xffffffffu << (32 - 8 * kept);
        if (k == length / 4u) word |= 0x80000000u >> 8u * (length % 4u);
        schedule[k] = k == 15u ? 8u * length : word;
    }
    for (uint k = 16u; k < 64u; k++) {
        uint a = schedule[k - 15u], b = schedule[k - 2u];
        uint small = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3, large = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        schedule[k] = schedule[k - 16u] + small + schedule[k - 7u] + large;
    }
}

void main() {
    uint which = gl_GlobalInvocationID.x, schedule[64];
    pad(which, schedule);
    // Fractional parts of the square roots of the first eight primes.
    const uvec4 first = uvec4(0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au);
    const uvec4 second = uvec4(0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u);
    uvec4 a = first, e = second;
    for (uint k = 0u; k < 64u; k++) {
        uint choice = (e.x & e.y) ^ (~e.x & e.z), majority = (a.x & a.y) ^ (a.x & a.z) ^ (a.y & a.z);
        uint one = e.w + (rotate(e.x, 6) ^ rotate(e.x, 11) ^ rotate(e.x, 25)) + choice + K[k] + schedule[k];
        uint two = (rotate(a.x, 2) ^ rotate(a.x, 13) ^ rotate(a.x, 22)) + majority;
        e = uvec4(a.w + one, e.xyz);
        a = uvec4(one + two, a.xyz);
    }
    a += first;
    e += second;
    for (int k = 0; k < 4; k++) {
        digests[which][k] = a[k];
        digests[which][k + 4] = e[k];
    }
}

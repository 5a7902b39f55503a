#version 460
// Morton codes and back, Gray codes, reversed bits, highest and lowest bits: bit fiddling of all sorts.
// points: two 16-bit and three 10-bit coordinates in x, y (packed: y in the upper half), and x, y, z (10 bits each).
// codes: 2-D code, 3-D code, 2-D code decoded again, Gray code of it.
// bits: findMSB, findLSB, bitCount of the 2-D code, findMSB of it as a signed number, bits reversed.

layout(local_size_x = 64) in;
struct Bits {
    int highest;
    int lowest;
    int count;
    int highest_signed;
    uint reversed;
};
layout(std430, binding = 0) readonly buffer Points { uvec2 points[]; };
layout(std430, binding = 1) writeonly buffer Codes { uvec4 codes[]; };
layout(std430, binding = 2) writeonly buffer BitsOut { Bits bits[]; };

uint spread_two(uint x) {
    x &= 0xffffu;
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

uint gather_two(uint x) {
    x &= 0x55555555u;
    x = (x | x >> 1) & 0x33333333u;
    x = (x | x >> 2) & 0x0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ffu;
    return (x | x >> 8) & 0xffffu;
}

uint spread_three(uint x) {
    uint result = 0u;
    for (int bit = 0; bit < 10; bit++) result = bitfieldInsert(result, x >> bit, 3 * bit, 1);
    return result;
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    uvec2 point = points[me];
    uint two = spread_two(point.x) | spread_two(point.x >> 16) << 1;
    uvec3 parts = uvec3(point.y, bitfieldExtract(point.y, 10, 10), bitfieldExtract(point.y, 20, 10)) & 1023u;
    uint three = spread_three(parts.x) | spread_three(parts.y) << 1 | spread_three(parts.z) << 2;
    codes[me] = uvec4(two, three, gather_two(two) | gather_two(two >> 1) << 16, two ^ two >> 1);
    bits[me] = Bits(findMSB(two), findLSB(two), bitCount(two), findMSB(int(two)), bitfieldReverse(two));
}

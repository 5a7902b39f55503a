#version 460
// Integers of 128 bits from 32-bit words: sum with carries, difference with borrows, product of 256 bits.
// pairs: two numbers, four words each, lowest first. sums: five words. differences: four and the borrow.
// products: eight.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Pairs { uint pairs[][2][4]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[][5]; };
layout(std430, binding = 2) writeonly buffer Differences { uint differences[][5]; };
layout(std430, binding = 3) writeonly buffer Products { uint products[][8]; };

uint add_carry(uint a, uint b, inout uint carry) {
    uint first, second, sum = uaddCarry(a, b, first);
    sum = uaddCarry(sum, carry, second);
    carry = first + second;
    return sum;
}

uint subtract_borrow(uint a, uint b, inout uint borrow) {
    uint first, second, rest = usubBorrow(a, b, first);
    rest = usubBorrow(rest, borrow, second);
    borrow = first + second;
    return rest;
}

void main() {
    uint me = gl_GlobalInvocationID.x, a[4] = pairs[me][0], b[4] = pairs[me][1], carry = 0u, borrow = 0u;
    for (int k = 0; k < 4; k++) {
        sums[me][k] = add_carry(a[k], b[k], carry);
        differences[me][k] = subtract_borrow(a[k], b[k], borrow);
    }
    sums[me][4] = carry;
    differences[me][4] = borrow;

    uint product[8] = uint[](0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
    for (int i = 0; i < 4; i++) {
        uint rest = 0u;
        for (int j = 0; j < 4; j++) {
            uint high, low, over = 0u, more = 0u;
            umulExtended(a[i], b[j], high, low);
            low = add_carry(low, rest, over);
            product[i + j] = add_carry(product[i + j], low, more);
            rest = high + over + more;
        }
        product[i + 4] = rest;
    }
    products[me] = product;
}

#version 460
// Extended Euclid by functions with in, out and inout parameters, structs and arrays as arguments and results.
// pairs: two ints above 0 an invocation. results: gcd, and x, y with x a + y b = gcd, and the number of divisions.
// fractions: a/b + b/(a + b) in lowest terms.

layout(local_size_x = 64) in;
struct Bezout {
    int gcd;
    int factors[2];
};
layout(std430, binding = 0) readonly buffer Pairs { ivec2 pairs[]; };
layout(std430, binding = 1) writeonly buffer Results { ivec4 results[]; };
layout(std430, binding = 2) writeonly buffer Fractions { ivec2 fractions[]; };

void divide(in int a, in int b, out int quotient, out int rest) {
    quotient = a / b;
    rest = a - quotient * b;
}

void step(inout ivec2 column, const int quotient) {
    column = ivec2(column.y, column.x - quotient * column.y);
}

Bezout euclid(int a, int b, inout int divisions) {
    ivec2 x = ivec2(1, 0), y = ivec2(0, 1);
    while (b != 0) {
        int quotient, rest;
        divide(a, b, quotient, rest);
        a = b;
        b = rest;
        step(x, quotient);
        step(y, quotient);
        divisions++;
    }
    return Bezout(a, int[2](x.x, y.x));
}

ivec2 lowest(ivec2 fraction) {
    int unused = 0;
    return fraction / euclid(fraction.x, fraction.y, unused).gcd;
}

ivec2 add(ivec2 a, ivec2 b) {
    return lowest(ivec2(a.x * b.y + b.x * a.y, a.y * b.y));
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    ivec2 pair = pairs[me];
    int divisions = 0;
    Bezout found = euclid(pair.x, pair.y, divisions);
    results[me] = ivec4(found.gcd, found.factors[0], found.factors[1], divisions);
    fractions[me] = add(lowest(pair), lowest(ivec2(pair.y, pair.x + pair.y)));
}

// The parts of softmax that need the row's registers. Before this file: softmax.glsl, row.glsl.

// The bits of an element decide whether the row has a meaning: no sentence of the specification says what exp
// and max of NaN are. What lies behind the end is an element of the row, too.
void absorb(inout State s, vec4 x[ITEMS], uint chunk) {
    float greatest = s.greatest;
    uvec4 bits = uvec4(0u);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        vec4 v = mix(vec4(LEAST), x[k], inside(positions_of(chunk, k), length));
        greatest = max(greatest, max(max(v.x, v.y), max(v.z, v.w)));
        bits = max(bits, floatBitsToUint(x[k]) & 0x7fffffffu);
    }
    bool meaningless = any(greaterThan(bits, uvec4(INFINITY))) || floatBitsToUint(greatest) == INFINITY;
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
        sum += mix(vec4(0.0), exp(x[k] - greatest), inside(positions_of(chunk, k), length));
    float total = moved(s, greatest) + (sum.x + sum.y) + (sum.z + sum.w);
    s = State(greatest, meaningless ? uintBitsToFloat(NAN) : total);
}

// A sum of a row with a meaning is a finite number above 0: each term is at most 1, the greatest element's is 1.
vec4 changed(vec4 x, State s, uvec4 positions) {
    bool meaningless = s.sum == 0.0 || (floatBitsToUint(s.sum) & INFINITY) == INFINITY;
    return mix(exp(x - s.greatest) * (1.0 / s.sum), uintBitsToFloat(uvec4(NAN)), bvec4(meaningless));
}

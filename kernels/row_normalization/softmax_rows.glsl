// The parts of softmax that need the row's registers. Before this file: softmax.glsl, row.glsl.

void absorb(inout State s, vec4 x[ITEMS], uint chunk) {
    float greatest = s.greatest;
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        vec4 v = mix(vec4(LEAST), x[k], inside(positions_of(chunk, k), length));
        greatest = max(greatest, max(max(v.x, v.y), max(v.z, v.w)));
    }
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
        sum += mix(vec4(0.0), exp(x[k] - greatest), inside(positions_of(chunk, k), length));
    s = State(greatest, moved(s, greatest) + (sum.x + sum.y) + (sum.z + sum.w));
}

vec4 changed(vec4 x, State s, uvec4 positions) { return exp(x - s.greatest) * (1.0 / s.sum); }

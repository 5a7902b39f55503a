// The parts of layer norm that need the row's registers. Before this file: layer_norm.glsl, row.glsl.

#if WEIGHT
layout(std430, binding = 2) readonly restrict buffer Weights { T weights[]; };
layout(std430, binding = 2) readonly restrict buffer WeightVectors { T4 weight_vectors[]; };
#endif
#if BIAS
layout(std430, binding = 3) readonly restrict buffer Biases { T biases[]; };
layout(std430, binding = 3) readonly restrict buffer BiasVectors { T4 bias_vectors[]; };
#endif

// Means are sums of differences from an element of the row: so the mean of equal elements is exact, although sums
// and divisions are rounded.
void absorb(inout State s, vec4 x[ITEMS], uint chunk) {
    float first = inside(positions_of(chunk, 0u), length).x ? x[0].x : 0.0;
    vec4 count = vec4(0.0), sum = vec4(0.0), squares = vec4(0.0);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        bvec4 here = inside(positions_of(chunk, k), length);
        count += vec4(here);
        sum += mix(vec4(0.0), x[k] - first, here);
    }
    float n = dot(count, vec4(1.0));
    float mean = first + ((sum.x + sum.y) + (sum.z + sum.w)) / max(n, 1.0);
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        vec4 apart = mix(vec4(0.0), x[k] - mean, inside(positions_of(chunk, k), length));
        squares += apart * apart;
    }
    s = combine(s, State(n, mean, (squares.x + squares.y) + (squares.z + squares.w)));
}

// A column's number, for elements at some places; behind the end of the row, of its last columns.
#define COLUMN(VALUES, VECTORS) \
    (ALIGNED ? vec4(VECTORS[min(positions.x, length - 4u) / 4u]) \
             : vec4(VALUES[at.x], VALUES[at.y], VALUES[at.z], VALUES[at.w]))

vec4 changed(vec4 x, State s, uvec4 positions) {
    vec4 y = (x - s.mean) * inversesqrt(s.squares / s.count + epsilon);
    uvec4 at = min(positions, uvec4(length - 1u));
#if WEIGHT
    y *= COLUMN(weights, weight_vectors);
#endif
#if BIAS
    y += COLUMN(biases, bias_vectors);
#endif
    return y;
}

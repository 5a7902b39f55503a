// Main part of matrix-vector products. Required before this file: products.glsl, and one of team_*.glsl.

// Whether rows are a multiple of four, so that they begin at whole vectors. Otherwise an item is four
// elements that lie a team apart: neighbours still read neighbouring elements.
layout(constant_id = 12) const bool ALIGNED = false;
layout(constant_id = 13) const uint ROWS = 4u;    // that a team reads together: 1 to 4

// The same memory twice: as elements, and as vectors of four.
layout(std430, binding = 0) readonly restrict buffer Matrix { T matrix[]; };
layout(std430, binding = 0) readonly restrict buffer MatrixVectors { T4 matrix_vectors[]; };
layout(std430, binding = 1) readonly restrict buffer Factors { T factors[]; };
layout(std430, binding = 1) readonly restrict buffer FactorVectors { T4 factor_vectors[]; };
#if FINISH == DIRECT
layout(std430, binding = 2) writeonly restrict buffer Results { R results[]; };
#else
layout(std430, binding = 2) writeonly restrict buffer Partials { A partials[]; };
#endif

layout(push_constant) uniform Push {
    uint length;    // elements of a row
    uint rows;
#if FINISH == SECOND
    uint parts;     // of each row; each has every `parts`-th tile
#endif
};

#if FINISH == DIRECT
const uint parts = 1u;
#endif

// The columns of item k of a tile.
uvec4 columns_of(uint tile, uint k) {
    const uvec4 each = uvec4(0, 1, 2, 3);
    if (ALIGNED)
        return tile + 4u * (k * team_lanes() + team_lane()) + each;
    return tile + (4u * k + each) * team_lanes() + team_lane();
}

// Four elements of a row, or of the vector: at `at` and behind it, or at each.
A4 matrix_at(uvec4 at) {
    return ALIGNED ? A4(matrix_vectors[at.x / 4u]) : A4(matrix[at.x], matrix[at.y], matrix[at.z], matrix[at.w]);
}

A4 factor_at(uvec4 at) {
    return ALIGNED ? A4(factor_vectors[at.x / 4u]) : A4(factors[at.x], factors[at.y], factors[at.z], factors[at.w]);
}

// Sum this invocation's share of the products of a part of ROWS rows.
State products(uint row, uint part) {
    A4 sums[4] = A4[4](A4(0), A4(0), A4(0), A4(0));
    uint size = 4u * ITEMS * team_lanes();
    for (uint tile = part * size; tile < length; tile += parts * size) {
        // Columns and rows behind the end are replaced by the last ones. Their products are not added: not
        // even times zero, for an infinity among them would give a NaN.
        A4 loaded[ITEMS * 4u];
        A4 factor[ITEMS];
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            uvec4 columns = columns_of(tile, k);
            uvec4 at = ALIGNED ? min(columns, length - 4u + uvec4(0, 1, 2, 3)) : min(columns, uvec4(length - 1u));
            factor[k] = factor_at(at);
            [[unroll]] for (uint r = 0u; r < ROWS; ++r)
                loaded[4u * k + r] = matrix_at(min(row + r, rows - 1u) * length + at);
        }
        bool whole = tile + size <= length;
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            bvec4 inside = lessThan(columns_of(tile, k), uvec4(length));
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                A4 product = loaded[4u * k + r] * factor[k];
                sums[r] += whole ? product : mix(A4(0), product, inside);
            }
        }
    }
    State s = A4(0);
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        s[r] = (sums[r].x + sums[r].y) + (sums[r].z + sums[r].w);
    return s;
}

void main() {
    uint jobs = (rows + ROWS - 1u) / ROWS * parts;
    for (uint start = gl_WorkGroupID.x * teams(); start < jobs; start += gl_NumWorkGroups.x * teams()) {
        // Teams without a job repeat the last job and write nothing, since all must take part in exchanges
        // and barriers.
        bool is_job = start + team() < jobs;
        uint job = min(start + team(), jobs - 1u);
        uint row = job / parts * ROWS, part = job % parts;
        State s = team_combine(products(row, part));
        for (uint r = team_lane(); r < ROWS; r += team_lanes())
            if (is_job && row + r < rows) {
#if FINISH == DIRECT
                results[row + r] = R(s[r]);
#else
                partials[(row + r) * parts + part] = s[r];
#endif
            }
        team_barrier();
    }
}

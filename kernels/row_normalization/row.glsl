// A row of floats in registers: each invocation of a team holds ITEMS vectors of four elements of it.
//
// Rows that are longer than the team holds are read chunk by chunk. Before this file: one of team_*.glsl.
//
// Macros: T, T4 the elements in memory and four of them (float, or float16_t); all computing is in float.

#ifndef T4
#define T4 vec4
#endif
#ifndef T_BITS
#define T_BITS 32
#endif

// Whether the length of rows is a multiple of four, so that rows begin at whole vectors. Otherwise an item is
// four elements that lie a team apart: adjacent invocations still read adjacent elements.
layout(constant_id = 12) const bool ALIGNED = false;

// The same memory twice: as elements, and as vectors of four.
layout(std430, binding = 0) readonly restrict buffer Values { T values[]; };
layout(std430, binding = 0) readonly restrict buffer Vectors { T4 vectors[]; };
layout(std430, binding = 1) writeonly buffer Results { T results[]; };
layout(std430, binding = 1) writeonly buffer ResultVectors { T4 result_vectors[]; };

uint chunk_size() { return 4u * ITEMS * team_lanes(); }

// The places in the row of item k of a chunk.
uvec4 positions_of(uint chunk, uint k) {
    const uvec4 each = uvec4(0, 1, 2, 3);
    if (ALIGNED)
        return chunk + 4u * (k * team_lanes() + team_lane()) + each;
    return chunk + (4u * k + each) * team_lanes() + team_lane();
}

bvec4 inside(uvec4 positions, uint length) { return lessThan(positions, uvec4(length)); }

// Load a chunk of a row. What lies behind the end is replaced by the row's last elements.
void load_chunk(out vec4 x[ITEMS], uint row, uint chunk, uint length) {
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        uvec4 positions = positions_of(chunk, k);
        if (ALIGNED) {
            x[k] = vec4(vectors[(row * length + min(positions.x, length - 4u)) / 4u]);
        } else {
            uvec4 at = row * length + min(positions, uvec4(length - 1u));
            x[k] = vec4(values[at.x], values[at.y], values[at.z], values[at.w]);
        }
    }
}

// Write item k of a chunk, but for what lies behind the end of the row.
void store_item(vec4 y, uint row, uint chunk, uint k, uint length) {
    uvec4 positions = positions_of(chunk, k);
    if (ALIGNED) {
        if (positions.x < length)
            result_vectors[(row * length + positions.x) / 4u] = T4(y);
    } else {
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
            if (positions[c] < length)
                results[row * length + positions[c]] = T(y[c]);
    }
}

// A team reads a part of a row, each element once, and each of its invocations combines its share to one state.
//
// Before this file: operation.glsl; one of team_*.glsl.

// Whether a part of a row is contiguous; otherwise the tiles of the parts are interleaved.
layout(constant_id = 12) const bool CONTIGUOUS = false;

// The same memory twice: as elements, and as vectors of four.
layout(std430, binding = 0) readonly restrict buffer Values { T values[]; };
layout(std430, binding = 0) readonly restrict buffer Vectors { T4 vectors[]; };

// Combine this invocation's share of a part of the elements begin … end − 1 to a state.
//
// Rows begin at any element, vectors at multiples of four. The elements before the first and after the last whole
// vector of the row are read singly: by the first part and by the last.
State fold(uint begin, uint end, uint part, uint parts) {
    uint lane = team_lane(), lanes = team_lanes();
    uint first = (begin + 3u) / 4u;
    uint last = max(end / 4u, first);

    // A tile is ITEMS vectors for each invocation. Neighbours read neighbouring vectors, and all loads of
    // a tile are issued before the first is used, so that many are in flight.
    uint tile = lanes * ITEMS;
    uint start = first + part * tile, stop = last, step = parts * tile;
    if (CONTIGUOUS) {
        uint each = ((last - first + tile - 1u) / tile + parts - 1u) / parts * tile;
        start = first + part * each;
        stop = min(start + each, last);
        step = tile;
    }
    State4 body = identity4();
    for (uint at = start; at < stop; at += step) {
        T4 loaded[ITEMS];
        if (at + tile <= stop) {
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
                loaded[k] = vectors[at + k * lanes + lane];
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
                take(body, element(loaded[k]), 4u * (at + k * lanes + lane) - begin + uvec4(0, 1, 2, 3));
        } else {
            // The last tile: vectors beyond the end are replaced by the last vector, and not combined.
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
                loaded[k] = vectors[min(at + k * lanes + lane, stop - 1u)];
            [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
                uint i = at + k * lanes + lane;
                if (i < stop)
                    take(body, element(loaded[k]), 4u * i - begin + uvec4(0, 1, 2, 3));
            }
        }
    }

    State s = folded(body);
    uint head = min(4u * first, end), tail = max(4u * last, head);
    if (part == 0u)
        for (uint i = begin + lane; i < head; i += lanes)
            take(s, element(values[i]), i - begin);
    if (part == parts - 1u)
        for (uint i = tail + lane; i < end; i += lanes)
            take(s, element(values[i]), i - begin);
    return s;
}

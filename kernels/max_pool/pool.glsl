// Common part of all versions: positions of 4 x 4 windows, and the maximum of one row of a window.
//
// The image consists of consecutive planes of height x width elements, and so do the maxima. A window at the
// right or lower border may have fewer elements, at least one. rows: the image as pieces of 4 elements (used
// where width is a multiple of 4, so that pieces begin with rows). scalars: the same memory as elements.
// maxima: one element a window.
#ifndef POOL_GLSL
#define POOL_GLSL

#if BITS == 8
#define Piece uint
#elif BITS == 16
#define Piece uvec2
#else
#define Piece uvec4
#endif

layout(std430, binding = 0) readonly buffer Rows { Piece rows[]; };
layout(std430, binding = 1) readonly buffer Scalars { Scalar scalars[]; };
layout(std430, binding = 2) writeonly buffer Maxima { Scalar maxima[]; };

layout(push_constant) uniform Push {
    uint count;          // windows in all planes
    uint window_columns; // windows side by side
    uint window_rows;    // and one below the other
    uint columns;        // elements side by side
    uint lines;          // and one below the other
};

// Less than or equal to every key.
const Key LEAST = Key(0u);

Key of_four(uint piece) {
    Key greatest = LEAST;
#if BITS == 64
    uvec4 two = rows[2u * piece];
    uvec4 more = rows[2u * piece + 1u];
    Key first_half = later(key_nan_last(two.xy), key_nan_last(two.zw));
    greatest = later(first_half, later(key_nan_last(more.xy), key_nan_last(more.zw)));
#else
    Piece all = rows[piece];
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
#if BITS == 8
        Raw raw = bitfieldExtract(all, int(8u * e), 8);
#elif BITS == 16
        Raw raw = bitfieldExtract(all[e / 2u], int(16u * (e % 2u)), 16);
#else
        Raw raw = all[e];
#endif
        greatest = later(greatest, key_nan_last(raw));
    }
#endif
    return greatest;
}

struct Corner {
    uint line;    // of the window's upper left element in its plane
    uint column;
    uint start;   // the element at which the plane begins
};

Corner corner_of(uint window) {
    uint window_row = window / window_columns;
    uint plane = window_row / window_rows;
    return Corner(4u * (window_row - plane * window_rows), 4u * (window - window_row * window_columns),
                  plane * columns * lines);
}

// The greatest key of one of a window's four rows, or LEAST if the row is outside the image.
Key row_of(Corner corner, uint row) {
    uint line = corner.line + row;
    if (line >= lines)
        return LEAST;
    uint first = corner.start + line * columns + corner.column;
    if (columns % 4u == 0u)
        return of_four(first / 4u);
    Key greatest = LEAST;
    for (uint e = 0u; e < min(4u, columns - corner.column); ++e)
        greatest = later(greatest, key_nan_last(TO_RAW(scalars[first + e])));
    return greatest;
}

// One element of a window in row-major order, or LEAST if it is outside the image.
Key element_of(Corner corner, uint i) {
    uint line = corner.line + i / 4u;
    uint column = corner.column + i % 4u;
    if (line >= lines || column >= columns)
        return LEAST;
    return key_nan_last(TO_RAW(scalars[corner.start + line * columns + column]));
}

void write_maximum(uint window, Key key) {
    maxima[window] = Scalar(raw_of(key));
}

// A whole window by one invocation, with one independent load per row.
void pool_alone(uint window) {
    Corner corner = corner_of(window);
    Key greatest = LEAST;
    [[unroll]] for (uint row = 0u; row < 4u; ++row)
        greatest = later(greatest, row_of(corner, row));
    write_maximum(window, greatest);
}

#endif

// Order of a top-k selection: unsigned integers that ascend from the first element of the result to the last.
//
// LARGEST: 1: the greatest elements are first, NaNs before them; 0: the least elements, NaNs behind all others.
// -0 equals 0, and NaNs are equal.
//
// Required before this file: ../include/elements.glsl.

#ifndef LARGEST
#define LARGEST 1
#endif

Key order_of(Raw raw) {
    Key order = sort_key(raw);
#if LARGEST
    order = ~order;
#endif
#if BITS == 16
    order <<= 16;    // keys of 16-bit floats have 16 bits; digits begin at the top, and no bits follow them
#endif
    return order;
}

// Elements of 8, 16, 32 or 64 bits from vectors of 16 bytes, and their keys: unsigned integers in the order
// of the values. The device does not need to support these types, since elements are extracted from 32-bit
// words.
//
// BITS: of an element. KIND: UNSIGNED, SIGNED or FLOATING. A Raw is an element's bits, and so is its Key,
// which orders as the values do: -0 just below +0, NaNs below -infinity or above +infinity.
#ifndef ELEMENTS_GLSL
#define ELEMENTS_GLSL

#define UNSIGNED 0
#define SIGNED 1
#define FLOATING 2

#ifndef BITS
#define BITS 32
#endif
#ifndef KIND
#define KIND UNSIGNED
#endif

// Scalar: the type of one element in memory; only the elements after the last whole vector are read with it.
#if BITS == 8
#extension GL_EXT_shader_8bit_storage : require
#define Scalar uint8_t
#define Raw uint
#define TO_RAW(scalar) uint(scalar)
#elif BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#define Scalar uint16_t
#define Raw uint
#define TO_RAW(scalar) uint(scalar)
#elif BITS == 32
#define Scalar uint
#define Raw uint
#define TO_RAW(scalar) (scalar)
#else
#define Scalar uvec2
#define Raw uvec2
#define TO_RAW(scalar) (scalar)
#endif
#define Key Raw

// Elements of one vector of 16 bytes.
#define PER (128 / BITS)

// The bits of one element of a vector; elements of 8 and 16 bits are in the low bits of the word, with zeros
// above.
Raw element(uvec4 vector, uint i) {
#if BITS == 64
    return i == 0u ? vector.xy : vector.zw;
#elif BITS == 32
    return vector[i];
#else
    uint each = 32u / BITS;
    return bitfieldExtract(vector[i / each], int(i % each) * BITS, BITS);
#endif
}

// With an inverted sign bit, two's complement integers are ordered like unsigned integers. Floats have a sign
// and a magnitude: inverting all bits of negative floats, and the sign of the others, gives the order of IEEE
// 754 totalOrder. Integers of 8 and 16 bits have the same keys as 32-bit integers of equal value.
Key key_of(Raw raw) {
#if KIND == UNSIGNED
    return raw;
#elif BITS == 64
    uint all = uint(int(raw.y) >> 31) * uint(KIND == FLOATING);
    return uvec2(raw.x ^ all, raw.y ^ (all | 0x80000000u));
#elif KIND == SIGNED
    return uint(bitfieldExtract(int(raw), 0, BITS)) ^ 0x80000000u;
#elif BITS == 32
    return raw ^ (uint(int(raw) >> 31) | 0x80000000u);
#else
    return raw ^ ((raw & 0x8000u) != 0u ? 0xffffu : 0x8000u);
#endif
}

// The element of a key.
Raw raw_of(Key key) {
#if KIND == UNSIGNED
    return key;
#elif BITS == 64
    uint all = uint(~int(key.y) >> 31) * uint(KIND == FLOATING);
    return uvec2(key.x ^ all, key.y ^ (all | 0x80000000u));
#elif KIND == SIGNED
    return bitfieldExtract(key ^ 0x80000000u, 0, BITS);
#elif BITS == 32
    return key ^ (uint(~int(key) >> 31) | 0x80000000u);
#else
    return key ^ ((key & 0x8000u) != 0u ? 0x8000u : 0xffffu);
#endif
}

bool less(Key a, Key b) {
#if BITS == 64
    return a.y < b.y || (a.y == b.y && a.x < b.x);
#else
    return a < b;
#endif
}

// The greater of two keys.
Key later(Key a, Key b) {
#if BITS == 64
    return less(a, b) ? b : a;
#else
    return max(a, b);
#endif
}

bool is_nan(Raw raw) {
#if KIND != FLOATING
    return false;
#elif BITS == 64
    uint above = bitfieldExtract(raw.y, 0, 31);
    return above > 0x7ff00000u || (above == 0x7ff00000u && raw.x != 0u);
#else
    return bitfieldExtract(raw, 0, BITS - 1) > (BITS == 16 ? 0x7c00u : 0x7f800000u);
#endif
}

// The key with NaNs of both signs greater than all numbers, as in NumPy's maximum.
Key key_nan_last(Raw raw) {
    return is_nan(raw) ? Key(0xffffffffu) : key_of(raw);
}

// The key in NumPy's order of sorting: -0 equals 0, and all NaNs are equal and last.
Key sort_key(Raw raw) {
#if KIND == FLOATING && BITS == 64
    if (raw.x == 0u && raw.y == 0x80000000u)
        raw.y = 0u;
#elif KIND == FLOATING
    if (raw == 1u << (BITS - 1))
        raw = 0u;
#endif
    return key_nan_last(raw);
}

// Whether low <= key <= high, for low <= high.
bool between(Key key, Key low, Key high) {
#if BITS == 64
    return !less(key, low) && !less(high, key);
#else
    return key - low <= high - low;  // a key below low wraps around to a greater difference
#endif
}

#endif

// Operation of a scan: its type, the combination of two values, and the keys of floats for MIN and MAX.
//
// Macros (beside those of kernel.glsl; all have defaults):
//   T          what is computed with: a type of 32 or 64 bits, integers for all but ADD and MUL
//   V          a vector of WIDTH of them: 16 bytes
//   OPERATION  ADD, MUL, MIN, MAX, AND, OR or XOR
//   HALF       1: elements are 16 bits wide in memory; T is float for ADD and MUL, else uint
//   KEYS       1: elements are the bits of floats, T is an unsigned integer; MIN and MAX compare keys in
//              their place
#include "../include/kernel.glsl"

#define ADD 0
#define MUL 1
#define MIN 2
#define MAX 3
#define AND 4
#define OR 5
#define XOR 6

#ifndef V
#define V vec4
#endif
#ifndef OPERATION
#define OPERATION ADD
#endif
#ifndef HALF
#define HALF 0
#endif
#ifndef KEYS
#define KEYS 0
#endif

// Elements of a vector; vectors of an invocation.
#if T_BITS == 64
#define WIDTH 2
#else
#define WIDTH 4
#endif
const uint VECTORS = ITEMS / WIDTH;

#if OPERATION == ADD
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY T(0)
#elif OPERATION == MUL
#define COMBINE(a, b) ((a) * (b))
#define IDENTITY T(1)
#elif OPERATION == MIN
#define COMBINE(a, b) min(a, b)
#elif OPERATION == MAX
#define COMBINE(a, b) max(a, b)
#elif OPERATION == AND
#define COMBINE(a, b) ((a) & (b))
#define IDENTITY (~T(0))
#elif OPERATION == OR
#define COMBINE(a, b) ((a) | (b))
#define IDENTITY T(0)
#else
#define COMBINE(a, b) ((a) ^ (b))
#define IDENTITY T(0)
#endif


// The bits of floats order as unsigned integers do once all bits of the negative ones and the sign of the
// others are turned over (IEEE 754 totalOrder). NaN has to win in both MIN and MAX, as in NumPy, so its key
// is the last one in the order of the operation; no float is compared, so a compiler that ignores NaN changes
// nothing.
#if KEYS
#if HALF
const T SIGN = T(0x8000);
const T INFINITE = T(0x7c00);
#elif T_BITS == 64
const T SIGN = T(1) << 63;
const T INFINITE = T(0x7ff) << 52;
#else
const T SIGN = T(0x80000000u);
const T INFINITE = T(0x7f800000u);
#endif
const T ALL = SIGN | (SIGN - T(1));

T key_of(T bits) {
    if ((bits & ~SIGN) > INFINITE)
        return OPERATION == MAX ? ALL : T(0);
    return (bits & SIGN) != T(0) ? bits ^ ALL : bits ^ SIGN;
}

T bits_from(T key) {
    return (key & SIGN) != T(0) ? key ^ SIGN : key ^ ALL;
}

// The keys of infinity and minus infinity.
#define IDENTITY (OPERATION == MIN ? INFINITE ^ SIGN : ~INFINITE & ~SIGN & ALL)
#else
#define key_of(x) (x)
#define bits_from(x) (x)
#if OPERATION == MIN || OPERATION == MAX
// The least number has only the highest bit set where T has a sign, and none where it has not.
const T LEAST = ~T(0) < T(0) ? T(1) << (T_BITS - 1) : T(0);
#define IDENTITY (OPERATION == MAX ? LEAST : ~LEAST)
#endif
#endif

// --- elements one by one ----------------------------------------------------------------------------------

#if HALF
#extension GL_EXT_shader_16bit_storage : require
#define Stored uint16_t
#else
#define Stored T
#endif
layout(std430, binding = 0) readonly buffer ValuesOneByOne { Stored value_at[]; };
layout(std430, binding = 1) writeonly buffer ScannedOneByOne { Stored scanned_at[]; };

T read_element(uint index) {
#if HALF && !KEYS
    return unpackHalf2x16(uint(value_at[index])).x;
#else
    return key_of(T(value_at[index]));
#endif
}

void write_element(uint index, T x) {
#if HALF && !KEYS
    scanned_at[index] = uint16_t(packHalf2x16(vec2(x, 0.0)));
#else
    scanned_at[index] = Stored(bits_from(x));
#endif
}

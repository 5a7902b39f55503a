// Operation of a reduction: type of the elements, conversion of an element to a state, and combination of two
// states.
//
// Macros (all have defaults):
//   T, T4        the elements in memory, and four of them
//   A, A4        the type of computations: T, or wider
//   A_BITS       bits of A, if A is an integer
//   R            the type of the results in memory
//   OPERATION    ADD, MUL, MIN, MAX, AND, OR or XOR
//   KEY_BITS     0, or for MAX: elements are the bits of floats of so many bits (T is a signed, A an unsigned
//                integer; S, S4 are signed ones as wide as A)
//   REVERSE      with KEY_BITS or ARG: the least element is the greatest state, so MAX finds a minimum
//   ARG          1: the result is the first index of the greatest state, not its value

#define ADD 0
#define MUL 1
#define MIN 2
#define MAX 3
#define AND 4
#define OR 5
#define XOR 6

#ifndef T4
#define T4 vec4
#endif
#ifndef A
#define A T
#define A4 T4
#endif
#ifndef A_BITS
#define A_BITS 32
#endif
#if A_BITS == 64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#ifndef R
#define R A
#endif
#ifndef OPERATION
#define OPERATION ADD
#endif
#ifndef KEY_BITS
#define KEY_BITS 0
#endif
#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef ARG
#define ARG 0
#endif

// --- conversion of elements to numbers ------------------------------------------------------------------

#if KEY_BITS != 0
// The bits of a float are a sign and a magnitude. If the sign is set, all other bits are inverted, so that the
// bits compare as integers in the order of the floats. Then the key of the least float, minus infinity, is
// subtracted. As unsigned integers these keys range from 0 for minus infinity to RANGE for infinity. Every NaN
// has a greater key: positive NaNs follow infinity, and negative NaNs, which are below minus infinity, wrap
// around to the top. So the greatest key is a NaN if there is one, as in NumPy. No float operation is used,
// since a device may flush denormal numbers and change NaNs. REVERSE subtracts from the key of infinity
// instead, which reverses the order and keeps NaN at the top.
const S MAGNITUDE = (S(1) << (KEY_BITS - 1)) - S(1);
#if KEY_BITS == 16
const S INFINITE = S(0x7c00);
#elif KEY_BITS == 32
const S INFINITE = S(0x7f800000);
#else
const S INFINITE = S(0x7ff00000) << 32;
#endif

#if ARG
// Zeros of both signs are equal here, so that the first of them is found: numbers are made of sign and
// magnitude, and infinity is added. All NaN are equal too.
const A RANGE = A(INFINITE) + A(INFINITE);
#define ELEMENT(TYPE, SIGNED, SOURCE) \
    TYPE element(SOURCE x) { \
        SIGNED bits = SIGNED(x); \
        SIGNED sign = bits >> (A_BITS - 1); \
        SIGNED number = ((bits & MAGNITUDE) ^ sign) - sign; \
        return min(TYPE(REVERSE != 0 ? INFINITE - number : number + INFINITE), TYPE(RANGE + A(1))); \
    }
#else
const A RANGE = A(INFINITE) + A(INFINITE) + A(1);
#define ELEMENT(TYPE, SIGNED, SOURCE) \
    TYPE element(SOURCE x) { \
        SIGNED bits = SIGNED(x); \
        SIGNED number = bits ^ ((bits >> (A_BITS - 1)) & MAGNITUDE); \
        return TYPE(REVERSE != 0 ? INFINITE - number : number - ~INFINITE); \
    }
#endif
ELEMENT(A, S, T)
ELEMENT(A4, S4, T4)
#elif ARG && REVERSE
A element(T x) { return ~A(x); }
A4 element(T4 x) { return ~A4(x); }
#else
A element(T x) { return A(x); }
A4 element(T4 x) { return A4(x); }
#endif

// --- the neutral element ----------------------------------------------------------------------------------

A neutral() {
#if OPERATION == MUL
    return A(1);
#elif OPERATION == AND
    return ~A(0);
#elif OPERATION == MIN || OPERATION == MAX
    // The least number: only the highest bit is set if A is signed, and no bit otherwise.
    A least = ~A(0) < A(0) ? A(1) << (A_BITS - 1) : A(0);
    return OPERATION == MAX ? least : ~least;
#else
    return A(0);
#endif
}

// --- states -----------------------------------------------------------------------------------------------

#if ARG
// The greatest element and its first index. The neutral state remains if no element is greater than the least
// number. If it is the result, all elements equal that number, and the first index is the answer; therefore
// the neutral state has the index 0.
struct State {
    A value;
    uint element_index;
};

struct State4 {
    A4 value;
    uvec4 element_index;
};

State identity() { return State(neutral(), 0u); }
State4 identity4() { return State4(A4(neutral()), uvec4(0u)); }

State combine(State a, State b) {
    bool second = b.value > a.value || (b.value == a.value && b.element_index < a.element_index);
    return State(second ? b.value : a.value, second ? b.element_index : a.element_index);
}

// Take four elements. Their indices must ascend from call to call, since an equal element is not taken.
void take(inout State4 s, A4 value, uvec4 element_index) {
    bvec4 better = greaterThan(value, s.value);
    s.value = mix(s.value, value, better);
    s.element_index = mix(s.element_index, element_index, better);
}

void take(inout State s, A value, uint element_index) { s = combine(s, State(value, element_index)); }

State component(State4 s, uint c) { return State(s.value[c], s.element_index[c]); }
#else
#define State A
#define State4 A4

#if OPERATION == ADD
#define COMBINED(a, b) (a) + (b)
#elif OPERATION == MUL
#define COMBINED(a, b) (a) * (b)
#elif OPERATION == MIN
#define COMBINED(a, b) min(a, b)
#elif OPERATION == MAX
#define COMBINED(a, b) max(a, b)
#elif OPERATION == AND
#define COMBINED(a, b) (a) & (b)
#elif OPERATION == OR
#define COMBINED(a, b) (a) | (b)
#else
#define COMBINED(a, b) (a) ^ (b)
#endif

State identity() { return neutral(); }
State4 identity4() { return A4(neutral()); }
State combine(State a, State b) { return COMBINED(a, b); }
void take(inout State4 s, A4 value, uvec4 element_index) { s = COMBINED(s, value); }
void take(inout State s, A value, uint element_index) { s = COMBINED(s, value); }
State component(State4 s, uint c) { return s[c]; }
#endif

State folded(State4 s) {
    return combine(combine(component(s, 0u), component(s, 1u)), combine(component(s, 2u), component(s, 3u)));
}

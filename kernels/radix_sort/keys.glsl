// Sorted data: keys of one or two 32-bit words, their order, and the values of the keys.
//
// Keys are moved unchanged, and compared by ordered(), which maps them to unsigned numbers. Keys are not encoded
// in memory, since the map is not one to one: -0 and 0 are equal in the order, and so are all NaNs.

#ifndef KEY_WORDS
#define KEY_WORDS 1     // 1: 32-bit keys; 2: 64-bit keys as two words, the low one first
#endif
#ifndef KEY_KIND
#define KEY_KIND 0      // 0: unsigned, 1: signed in two's complement, 2: IEEE 754 binary
#endif
#ifndef DESCENDING
#define DESCENDING 0
#endif
#ifndef VALUE_WORDS
#define VALUE_WORDS 0   // 0: keys alone; 1 or 2: with values of that many words
#endif
#ifndef UNROLL
#define UNROLL 1        // 0: loops are not unrolled, which CPU drivers compile much faster
#endif
#if UNROLL
#define UNROLLED [[unroll]]
#else
#define UNROLLED [[dont_unroll]]
#endif
#ifndef RADIX_BITS
#define RADIX_BITS 4    // of a digit
#endif

const uint RADIX = 1u << RADIX_BITS;
const uint PASSES = (KEY_WORDS * 32u + RADIX_BITS - 1u) / RADIX_BITS;
const uint NOTHING = 0xffffffffu;

#if KEY_WORDS == 1
#define KEY uint
#define SIGN_WORD(key) (key)
#define LOW_WORDS(key) 0u
const uint INFINITY_WORD = 0x7f800000u;
#else
#define KEY uvec2
#define SIGN_WORD(key) ((key).y)
#define LOW_WORDS(key) ((key).x)
const uint INFINITY_WORD = 0x7ff00000u;
#endif

#if VALUE_WORDS == 2
#define VALUE uvec2
#else
#define VALUE uint
#endif

// The key as an unsigned number (of one or two words) in the order of the sort.
KEY ordered(KEY key) {
#if KEY_KIND == 2
    // All bits of negative numbers are inverted, and only the sign of others. NaN is last in both directions: it
    // maps to all ones, and no number does.
    uint sign_word = SIGN_WORD(key), rest = LOW_WORDS(key);
    uint magnitude = sign_word & 0x7fffffffu;
    bool nan = magnitude > INFINITY_WORD || (magnitude == INFINITY_WORD && rest != 0u);
    uint negative = (magnitude | rest) == 0u ? 0u : uint(int(sign_word) >> 31);
    sign_word = magnitude | (negative & 0x80000000u);
#if KEY_WORDS == 1
    KEY order = sign_word ^ (negative | 0x80000000u);
#else
    KEY order = uvec2(rest ^ negative, sign_word ^ (negative | 0x80000000u));
#endif
#if DESCENDING
    order = ~order;
#endif
    return nan ? KEY(NOTHING) : order;
#else
    KEY order = key;
#if KEY_KIND == 1
    SIGN_WORD(order) ^= 0x80000000u;
#endif
#if DESCENDING
    order = ~order;
#endif
    return order;
#endif
}

// A key that is last in the order, which fills the rest of an incomplete tile.
KEY last_key() {
#if KEY_KIND == 2
    return KEY(NOTHING);
#else
    KEY key = KEY(NOTHING);
#if DESCENDING
    key = ~key;
#endif
#if KEY_KIND == 1
    SIGN_WORD(key) ^= 0x80000000u;
#endif
    return key;
#endif
}

// The digit of an ordered key that begins at bit `shift`. The last one may have fewer bits.
uint digit_of(KEY order, uint shift) {
#if KEY_WORDS == 1
    return (order >> shift) & (RADIX - 1u);
#elif 32 % RADIX_BITS == 0
    return ((shift < 32u ? order.x : order.y) >> (shift & 31u)) & (RADIX - 1u);
#else
    uint word = shift >= 32u ? order.y >> (shift - 32u)
              : shift == 0u ? order.x : (order.x >> shift) | (order.y << (32u - shift));
    return word & (RADIX - 1u);
#endif
}

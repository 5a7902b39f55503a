// The tiles of a scan: reading elements and heads, and writing results.
//
// A tile is ITEMS elements of each invocation of a workgroup. Elements are numbered in the order of the scan: with
// REVERSE tile 0 is at the end of memory, and every vector is turned round.
//
// Macros:
//   REVERSE    1: the scan runs from the last element to the first
//   EXCLUSIVE  1: each result leaves its own element out
//   SEGMENTS   NONE; ROWS: a segment begins every `row` elements; FLAGS: where the byte of the element in heads is
//              not 0
#ifndef TILE_GLSL
#define TILE_GLSL

#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif
#define NONE 0
#define ROWS 1
#define FLAGS 2
#ifndef SEGMENTS
#define SEGMENTS NONE
#endif

#define TILE (WORKGROUP * ITEMS)

#if HALF
#extension GL_EXT_shader_16bit_storage : require
layout(std430, binding = 0) readonly buffer Values { uvec2 values[]; };
layout(std430, binding = 0) readonly buffer ValuesOneByOne { uint16_t value_at[]; };
layout(std430, binding = 1) writeonly buffer Scanned { uvec2 scanned[]; };
layout(std430, binding = 1) writeonly buffer ScannedOneByOne { uint16_t scanned_at[]; };
#else
layout(std430, binding = 0) readonly buffer Values { V values[]; };
layout(std430, binding = 0) readonly buffer ValuesOneByOne { T value_at[]; };
layout(std430, binding = 1) writeonly buffer Scanned { V scanned[]; };
layout(std430, binding = 1) writeonly buffer ScannedOneByOne { T scanned_at[]; };
#endif
#if SEGMENTS == FLAGS
layout(std430, binding = 3) readonly buffer Heads { uint heads[]; };    // four bytes in each
#endif

layout(push_constant) uniform Parameters {
    uint count;    // elements
    uint row;      // with SEGMENTS == ROWS: elements of a segment
};

uint tiles() {
    return (count + TILE - 1u) / TILE;
}

// The vector of memory that is vector `place` of a tile.
uint vector_of(uint tile, uint place) {
    return REVERSE != 0 ? (tiles() - tile) * (TILE / WIDTH) - 1u - place : tile * (TILE / WIDTH) + place;
}

// Whether all elements of a tile are there.
bool is_whole(uint tile) {
    return (REVERSE != 0 ? tiles() - tile : tile + 1u) * TILE <= count;
}

uint component(uint i) {
    return REVERSE != 0 ? uint(WIDTH) - 1u - i : i;
}

T from_memory(uint vector, uint i) {
    uint index = vector * WIDTH + component(i);
    if (index >= count)
        return IDENTITY;
#if HALF && KEYS
    return key_of(T(value_at[index]));
#elif HALF
    return unpackHalf2x16(uint(value_at[index])).x;
#else
    return key_of(value_at[index]);
#endif
}

// Read a vector; elements that are not there are the identity.
void read_vector(uint vector, bool whole, out T x[WIDTH]) {
    if (whole) {
#if HALF
        uvec2 words = values[vector];
#if KEYS
        uvec4 all = uvec4(words.x & 0xffffu, words.x >> 16, words.y & 0xffffu, words.y >> 16);
#else
        vec4 all = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
#endif
#else
        V all = values[vector];
#endif
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            x[i] = key_of(all[component(i)]);
    } else {
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            x[i] = from_memory(vector, i);
    }
}

void write_vector(uint vector, bool whole, T x[WIDTH]) {
#if HALF
    uint half_bits[WIDTH];
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if KEYS
        half_bits[component(i)] = bits_from(x[i]);
#else
        half_bits[component(i)] = packHalf2x16(vec2(x[i], 0.0));
#endif
    }
    if (whole)
        scanned[vector] = uvec2(half_bits[0] | half_bits[1] << 16, half_bits[2] | half_bits[3] << 16);
    else
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            if (vector * WIDTH + i < count)
                scanned_at[vector * WIDTH + i] = uint16_t(half_bits[i]);
#else
    V all;
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
        all[component(i)] = bits_from(x[i]);
    if (whole)
        scanned[vector] = all;
    else
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            if (vector * WIDTH + i < count)
                scanned_at[vector * WIDTH + i] = all[i];
#endif
}

// Which elements of a vector begin a segment, in the order of the scan: bit i of element i. Read backwards, a segment
// begins with the element whose successor in memory begins one.
uint heads_of(uint vector) {
    uint found = 0u;
#if SEGMENTS != NONE
    uint first = vector * WIDTH + uint(REVERSE);
#if SEGMENTS == ROWS
    uint place = first % row;
#endif
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if SEGMENTS == ROWS
        bool head = place == 0u;
        place = place + 1u == row ? 0u : place + 1u;
#else
        uint index = first + i;
        bool head = index < count && (heads[index / 4u] >> (8u * (index % 4u)) & 0xffu) != 0u;
#endif
        if (head)
            found |= 1u << component(i);
    }
#endif
    return found;
}

// Scan the elements of a vector by themselves. `open`: bit i says that no segment begins in element i or before.
// Returns what they come to, since the last head.
T scan_vector(inout T x[WIDTH], uint head_bits, out uint open) {
    T sum = x[0];
    open = 0u;
    bool headed = false;
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
        bool head = SEGMENTS != NONE && (head_bits >> i & 1u) != 0u;
        T before = i == 0u || head ? IDENTITY : sum;
        if (i != 0u)
            sum = head ? x[i] : COMBINE(sum, x[i]);
        x[i] = EXCLUSIVE != 0 ? before : sum;
        headed = headed || head;
        if (!headed)
            open |= 1u << i;
    }
    return sum;
}

// The part of a scan that is known of one vector before what comes before it is: see finish_vector.
struct Part {
    T before;         // the sum since the last head before this vector
    bool unfinished;  // whether that lacks what comes before the subgroup or workgroup
};

// Write a vector, now that it is known what comes before: `prefix`.
void finish_vector(uint vector, bool whole, T x[WIDTH], uint open, Part part, T prefix) {
    T incoming = part.unfinished ? COMBINE(prefix, part.before) : part.before;
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
        if (SEGMENTS == NONE || (open >> i & 1u) != 0u)
            x[i] = COMBINE(incoming, x[i]);
    write_vector(vector, whole, x);
}

#endif

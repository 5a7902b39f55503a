// The tiles of a scan: reading elements and heads, and writing results.
//
// A tile is ITEMS elements of each invocation of a workgroup. Elements are numbered in the order of the scan:
// with REVERSE tile 0 is at the end of memory, and every vector is reversed.
//
// Macros:
//   REVERSE    1: the scan runs from the last element to the first
//   EXCLUSIVE  1: each result leaves its own element out
//   SEGMENTS   NONE; ROWS: a segment begins every `row` elements; FLAGS: where the byte of the element in
//              heads is not 0
//   ONE_GROUP  1: one workgroup scans all tiles in turn
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

#ifndef ONE_GROUP
#define ONE_GROUP 0
#endif

#define TILE (WORKGROUP * ITEMS)

// The same memory as in operation.glsl.
#if HALF
#define Vector uvec2
#else
#define Vector V
#endif
layout(std430, binding = 0) readonly buffer Values { Vector values[]; };
layout(std430, binding = 1) writeonly buffer Scanned { Vector scanned[]; };
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

// Defined by the kernel: positions of this invocation's vectors in its tile, in the order of the scan.
uint vector_slot(uint k);

// Vector k of this invocation, in memory.
uint vector_of(uint tile, uint k) {
    uint position = vector_slot(k);
    return REVERSE != 0 ? (tiles() - tile) * (TILE / WIDTH) - 1u - position : tile * (TILE / WIDTH) + position;
}

// Whether a tile is completely inside the array.
bool is_whole(uint tile) {
    return (REVERSE != 0 ? tiles() - tile : tile + 1u) * TILE <= count;
}

uint component(uint i) {
    return REVERSE != 0 ? uint(WIDTH) - 1u - i : i;
}

// Read a vector; elements outside the array are the identity.
void read_vector(uint vector, bool whole, out T x[WIDTH]) {
    if (whole) {
        Vector packed = values[vector];
#if HALF && KEYS
        uvec4 all = uvec4(packed.x & 0xffffu, packed.x >> 16, packed.y & 0xffffu, packed.y >> 16);
#elif HALF
        vec4 all = vec4(unpackHalf2x16(packed.x), unpackHalf2x16(packed.y));
#else
        V all = packed;
#endif
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            x[i] = key_of(all[component(i)]);
    } else {
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
            uint index = vector * WIDTH + component(i);
            x[i] = IDENTITY;
            if (index < count)
                x[i] = read_element(index);
        }
    }
}

void write_vector(uint vector, bool whole, T x[WIDTH]) {
    if (whole) {
        V all;
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            all[component(i)] = bits_from(x[i]);
#if HALF && KEYS
        scanned[vector] = uvec2(all.x | all.y << 16, all.z | all.w << 16);
#elif HALF
        scanned[vector] = uvec2(packHalf2x16(all.xy), packHalf2x16(all.zw));
#else
        scanned[vector] = all;
#endif
    } else {
        [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
            if (vector * WIDTH + component(i) < count)
                write_element(vector * WIDTH + component(i), x[i]);
    }
}

// Read the vectors of this invocation, without other instructions between the loads.
void read_tile(uint tile, bool whole, out T x[VECTORS][WIDTH]) {
    if (whole) {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
            read_vector(vector_of(tile, k), true, x[k]);
    } else {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
            read_vector(vector_of(tile, k), false, x[k]);
    }
}

// The elements of a vector that begin a segment, in the order of the scan: bit i stands for element i. In
// reverse order, a segment begins with an element whose successor in memory has a head.
uint heads_of(uint vector) {
    uint head_bits = 0u;
#if SEGMENTS != NONE
    uint first = vector * WIDTH + uint(REVERSE);
#if SEGMENTS == ROWS
    uint position = first % row;
#endif
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if SEGMENTS == ROWS
        bool head = position == 0u;
        position = position + 1u == row ? 0u : position + 1u;
#else
        uint index = first + i;
        bool head = index < count && (heads[index / 4u] >> (8u * (index % 4u)) & 0xffu) != 0u;
#endif
        if (head)
            head_bits |= 1u << component(i);
    }
#endif
    return head_bits;
}

// Scan the elements of one vector. `open`: bit i is set if no segment begins at element i or before. Returns
// the sum since the last head.
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

// Add the sum of the previous vectors since the last head. `unfinished`: whether this sum lacks the prefix of
// the subgroup or workgroup; the elements that still need this prefix remain open. This is done before the
// look-back, so that only the elements need registers during the look-back.
void settle_vector(inout T x[WIDTH], inout uint open, T before, bool unfinished) {
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
        if (SEGMENTS == NONE || (open >> i & 1u) != 0u)
            x[i] = COMBINE(before, x[i]);
    if (!unfinished)
        open = 0u;
}

// Write a vector with its final prefix `prefix`.
void finish_vector(uint vector, bool whole, T x[WIDTH], uint open, T prefix) {
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
        if (SEGMENTS == NONE || (open >> i & 1u) != 0u)
            x[i] = COMBINE(prefix, x[i]);
    write_vector(vector, whole, x);
}

#endif

// Tiles of a compaction: selection of the kept elements, and their new positions.
//
// A tile is ITEMS elements of each invocation of a workgroup. Elements are moved as bits, whatever their
// type.
//
// Macros:
//   BITS    of an element: 16, 32 or 64
//   WHERE   MASK: elements are kept whose byte in mask is not 0. ANY: those that have a bit in common with
//           limit. COMPARED: those for which AS(element) RELATION AS(limit)
//   AS      the number that bits are, for COMPARED: uint, int, uintBitsToFloat, half_from (of 16 bits),
//           packDouble2x32, packUint2x32, int64_from (of 64 bits, with T_BITS 64)
//   OUTPUT  VALUES: the kept elements; INDICES: their indices; PARTITION: the kept elements, then the others;
//           COUNT: only how many are kept
//   ONE_TILE  1: the array is one tile, which one workgroup compacts; PARTITION then writes total
#include "../include/kernel.glsl"

#define MASK 0
#define ANY 1
#define COMPARED 2
#ifndef WHERE
#define WHERE COMPARED
#endif
#ifndef BITS
#define BITS 32
#endif
#ifndef AS
#define AS uintBitsToFloat
#endif
#ifndef RELATION
#define RELATION <
#endif
#define VALUES 0
#define INDICES 1
#define PARTITION 2
#define COUNT 3
#ifndef OUTPUT
#define OUTPUT VALUES
#endif

// Elements of a vector of 16 bytes (8 where an element has 2); vectors of an invocation.
#if BITS == 64
#define WIDTH 2
#define Element uvec2
#else
#define WIDTH 4
#define Element uint
#endif
const uint VECTORS = ITEMS / WIDTH;
#define TILE (WORKGROUP * ITEMS)

#ifndef ONE_TILE
#define ONE_TILE 0
#endif

// Whether the elements are read.
#define READS_VALUES (WHERE != MASK || OUTPUT == VALUES || OUTPUT == PARTITION)

#if BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#define Stored uint16_t
#define Vector uvec2
#else
#define Stored Element
#define Vector uvec4
#endif
#if READS_VALUES
layout(std430, binding = 0) readonly buffer Values { Vector values[]; };
layout(std430, binding = 0) readonly buffer ValuesOneByOne { Stored value_at[]; };
#endif
// Type of the moved values, in shared memory and in the result: elements, or their indices.
#if OUTPUT == INDICES
#define Moved uint
#define Result uint
#else
#define Moved Element
#define Result Stored
#endif
#if OUTPUT != COUNT
layout(std430, binding = 1) writeonly buffer Kept { Result kept[]; };
#endif
#if WHERE == MASK
layout(std430, binding = 3) readonly buffer Mask { uint mask[]; };    // four bytes in each
#endif
layout(std430, binding = 4) buffer Total { uint total; };    // number of kept elements

layout(push_constant) uniform Parameters {
    uint count;    // elements
    uint limit;    // its lower 32 bits
    uint limit_high;
};

uint tiles() {
    return (count + TILE - 1u) / TILE;
}

// --- selection of the kept elements
// ------------------------------------------------------------------------------

float half_from(uint bits) { return unpackHalf2x16(bits).x; }
#if T_BITS == 64 && !T_FLOAT
int64_t int64_from(uvec2 bits) { return int64_t(packUint2x32(bits)); }
#endif

bool is_kept(Element x) {
#if BITS == 64
    uvec2 against = uvec2(limit, limit_high);
#else
    uint against = limit;
#endif
#if WHERE == COMPARED
    return AS(x) RELATION AS(against);
#else
    return (x & against) != Element(0u);
#endif
}

// Defined by the kernel: positions of this invocation's vectors in its tile.
uint vector_slot(uint k);

uint vector_of(uint tile, uint k) {
    return tile * (TILE / WIDTH) + vector_slot(k);
}

// Read a vector that is completely inside the array.
void read_whole(uint vector, out Element x[WIDTH]) {
#if READS_VALUES
    Vector all = values[vector];
#if BITS == 16
    x = Element[](all.x & 0xffffu, all.x >> 16, all.y & 0xffffu, all.y >> 16);
#elif BITS == 32
    x = Element[](all.x, all.y, all.z, all.w);
#else
    x = Element[](all.xy, all.zw);
#endif
#else
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i)
        x[i] = Element(0u);
#endif
}

// Read a vector; elements outside the array are zeros.
void read_part(uint vector, out Element x[WIDTH]) {
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
        x[i] = Element(0u);
#if READS_VALUES
        if (vector * WIDTH + i < count)
            x[i] = Element(value_at[vector * WIDTH + i]);
#endif
    }
}

// The mask bytes of a vector, in the low bits; 0 unless WHERE is MASK.
uint mask_of(uint vector, bool whole) {
#if WHERE == MASK
    if (whole || vector * WIDTH < count)
        return mask[vector * WIDTH / 4u] >> (8u * (vector * WIDTH % 4u));
#endif
    return 0u;
}

// Read an element and its mask byte.
void read_one(uint index, out Element x, out uint byte) {
    x = Element(0u);
    byte = 0u;
#if READS_VALUES
    x = Element(value_at[index]);
#endif
#if WHERE == MASK
    byte = mask[index / 4u] >> (8u * (index % 4u)) & 0xffu;
#endif
}

// Whether an element with the mask byte `byte` is kept.
bool keeps(Element x, uint byte) {
#if WHERE == MASK
    return byte != 0u;
#else
    return is_kept(x);
#endif
}

// The kept elements of a vector: bit i stands for element i.
uint flags_of(uint vector, bool whole, Element x[WIDTH], uint bytes) {
    uint flags = 0u;
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
        if (keeps(x[i], bytes >> (8u * i) & 0xffu) && (whole || vector * WIDTH + i < count))
            flags |= 1u << i;
    }
    return flags;
}

// Read the vectors of this invocation and find the kept elements. All loads come before the first use of an
// element, without other instructions between them.
void read_tile(uint tile, out Element x[VECTORS][WIDTH], out uint flags[VECTORS]) {
    bool whole = (tile + 1u) * TILE <= count;
    uint bytes[VECTORS];
    if (whole) {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
            read_whole(vector_of(tile, k), x[k]);
            bytes[k] = mask_of(vector_of(tile, k), true);
        }
    } else {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
            read_part(vector_of(tile, k), x[k]);
            bytes[k] = mask_of(vector_of(tile, k), false);
        }
    }
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        flags[k] = flags_of(vector_of(tile, k), whole, x[k], bytes[k]);
}

// The number of elements of a tile that this invocation keeps, for tiles whose elements are not moved by this
// workgroup.
uint count_kept(uint tile) {
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint kept_count = 0u;
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        kept_count += bitCount(flags[k]);
    return kept_count;
}

// Tiles of a compaction: selection of the kept elements, and their new positions.
//
// A tile is ITEMS elements of each invocation of a workgroup. Elements are moved as bits, whatever their
// type.
//
// Macros:
//   BITS    of an element: 16, 32 or 64
//   WHERE   MASK: elements are kept whose byte in mask is not 0. ANY: those that have a bit in common with
//           limit. COMPARED: those for which AS(element) RELATION AS(limit). RUN_HEADS: the first element and
//           those that differ from the element before them by sort_key (macro KIND): in a sorted array, the
//           first element of each run of equal elements
//   AS      the number that bits are, for COMPARED: uint, int, uintBitsToFloat, half_from (of 16 bits),
//           packDouble2x32, packUint2x32, int64_from (of 64 bits, with T_BITS 64)
//   OUTPUT  VALUES: the kept elements; INDICES: their indices; PARTITION: the kept elements, then the others;
//           COUNT: only how many are kept; RUNS, with RUN_HEADS: the kept elements, and of each run by macros:
//           FIRSTS the least origin, LENGTHS the number of elements, INVERSE the run's number, stored at the
//           origin of each of its elements. Origins are the elements' indices before a stable sort
//   ONE_GROUP  1: one workgroup compacts all tiles in turn; with PARTITION there is one, and it writes total
#include "../include/kernel.glsl"

#define MASK 0
#define ANY 1
#define COMPARED 2
#define RUN_HEADS 3
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
#define RUNS 4
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

#ifndef ONE_GROUP
#define ONE_GROUP 0
#endif

// Whether the elements are read.
#define READS_VALUES (WHERE != MASK || OUTPUT == VALUES || OUTPUT == PARTITION)

#if WHERE == RUN_HEADS
#include "../include/elements.glsl"
#endif

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

#if OUTPUT == RUNS
#ifndef FIRSTS
#define FIRSTS 0
#endif
#ifndef INVERSE
#define INVERSE 0
#endif
#ifndef LENGTHS
#define LENGTHS 0
#endif
#if FIRSTS || INVERSE
layout(std430, binding = 5) readonly buffer Origins { uint origins[]; };
#endif
#if FIRSTS
layout(std430, binding = 6) writeonly buffer Firsts { uint firsts[]; };
#endif
#if INVERSE
layout(std430, binding = 7) writeonly buffer Inverse { uint inverse[]; };
#endif
#if LENGTHS
layout(std430, binding = 8) buffer Lengths { uint lengths[]; };    // initially zeros
#endif
#endif

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

// What decides with an element whether it is kept. RUN_HEADS: the element before it; otherwise its mask byte.
#if WHERE == RUN_HEADS
#define Context Element
#else
#define Context uint
#endif

// Whether an element is kept. RUN_HEADS: the caller also keeps the first element of the array.
bool keeps(Element x, Context context) {
#if BITS == 64
    uvec2 against = uvec2(limit, limit_high);
#else
    uint against = limit;
#endif
#if WHERE == MASK
    return context != 0u;
#elif WHERE == RUN_HEADS
    return sort_key(x) != sort_key(context);
#elif WHERE == COMPARED
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

// The mask bytes of a vector, in the low bits, or the element before the vector.
Context context_of(uint vector, bool whole) {
    if (whole || vector * WIDTH < count) {
#if WHERE == MASK
        return mask[vector * WIDTH / 4u] >> (8u * (vector * WIDTH % 4u));
#elif WHERE == RUN_HEADS
        return Element(value_at[max(vector, 1u) * WIDTH - 1u]);
#endif
    }
    return Context(0u);
}

// Read an element and its mask byte.
void read_one(uint index, out Element x, out Context byte) {
    x = Element(0u);
    byte = Context(0u);
#if READS_VALUES
    x = Element(value_at[index]);
#endif
#if WHERE == MASK
    byte = mask[index / 4u] >> (8u * (index % 4u)) & 0xffu;
#endif
}

// The kept elements of a vector: bit i stands for element i.
uint flags_of(uint vector, bool whole, Element x[WIDTH], Context context) {
    uint flags = 0u;
    [[unroll]] for (uint i = 0u; i < WIDTH; ++i) {
#if WHERE == RUN_HEADS
        bool keep = vector + i == 0u || keeps(x[i], i == 0u ? context : x[max(i, 1u) - 1u]);
#else
        bool keep = keeps(x[i], context >> (8u * i) & 0xffu);
#endif
        if (keep && (whole || vector * WIDTH + i < count))
            flags |= 1u << i;
    }
    return flags;
}

// Read the vectors of this invocation and find the kept elements. All loads come before the first use of an
// element, without other instructions between them.
void read_tile(uint tile, out Element x[VECTORS][WIDTH], out uint flags[VECTORS]) {
    bool whole = (tile + 1u) * TILE <= count;
    Context contexts[VECTORS];
    if (whole) {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
            read_whole(vector_of(tile, k), x[k]);
            contexts[k] = context_of(vector_of(tile, k), true);
        }
    } else {
        [[unroll]] for (uint k = 0u; k < VECTORS; ++k) {
            read_part(vector_of(tile, k), x[k]);
            contexts[k] = context_of(vector_of(tile, k), false);
        }
    }
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        flags[k] = flags_of(vector_of(tile, k), whole, x[k], contexts[k]);
}

// The number of elements of a tile that this invocation keeps, if the tile's elements are only counted.
uint count_kept(uint tile) {
    Element x[VECTORS][WIDTH];
    uint flags[VECTORS];
    read_tile(tile, x, flags);
    uint kept_count = 0u;
    [[unroll]] for (uint k = 0u; k < VECTORS; ++k)
        kept_count += bitCount(flags[k]);
    return kept_count;
}

// The same for the tile of another workgroup. This is rare and may be slow, but must need few registers: this
// workgroup's elements are in registers at the same time, and registers limit the number of workgroups that run
// at once.
uint recount_kept(uint tile) {
    uint kept_count = 0u;
    [[dont_unroll]] for (uint k = 0u; k < VECTORS; ++k) {
        uint vector = vector_of(tile, k);
        Element x[WIDTH];
        read_part(vector, x);
        kept_count += bitCount(flags_of(vector, false, x, context_of(vector, false)));
    }
    return kept_count;
}

#if OUTPUT == RUNS
// Write the results of an element. `heads` runs begin before it. The length of a run is the difference of two
// heads, which are found by different invocations: each adds its part to the length.
void write_of_run(uint index, Element x, bool head, uint heads) {
    uint run = head ? heads : heads - 1u;
    if (head) {
        kept[run] = Result(x);
#if FIRSTS
        firsts[run] = origins[index];
#endif
#if LENGTHS
        atomicAdd(lengths[run], 0u - index);
        if (run != 0u)
            atomicAdd(lengths[run - 1u], index);
#endif
    }
#if LENGTHS
    if (index == count - 1u)
        atomicAdd(lengths[run], count);
#endif
#if INVERSE
    inverse[origins[index]] = run;
#endif
}
#endif

// The buffers of one pass, and reading the keys and values that it sorts.

layout(push_constant) uniform Push {
    uint count;     // keys
    uint pass;      // which digit: 0 is the lowest
} push;

layout(std430, binding = 0) readonly buffer Input { KEY input_key[]; };
layout(std430, binding = 1) buffer Spare { KEY spare_key[]; };
layout(std430, binding = 2) buffer Result { KEY result_key[]; };
#define WORK_BINDING 3
#include "work.glsl"
layout(std430, binding = 4) buffer States { uint state[]; };
#if VALUE_WORDS
layout(std430, binding = 5) readonly buffer InputValues { VALUE input_value[]; };
layout(std430, binding = 6) buffer SpareValues { VALUE spare_value[]; };
layout(std430, binding = 7) buffer ResultValues { VALUE result_value[]; };
#endif

#ifndef INDICES
#define INDICES 0       // 1 and 2: a key's value is its index in the input; 1: the last pass writes no keys
#endif

// Cells of shared memory hold keys, and then values.
#if KEY_WORDS == 2 || VALUE_WORDS == 2
#define CELL uvec2
#else
#define CELL uint
#endif
#if KEY_WORDS == 2 || VALUE_WORDS != 2
#define CELL_OF_KEY(key) (key)
#define KEY_OF_CELL(cell) (cell)
#else
#define CELL_OF_KEY(key) uvec2(key, 0u)
#define KEY_OF_CELL(cell) (cell).x
#endif
#if VALUE_WORDS == 2 || KEY_WORDS != 2
#define CELL_OF_VALUE(value) (value)
#define VALUE_OF_CELL(cell) (cell)
#else
#define CELL_OF_VALUE(value) uvec2(value, 0u)
#define VALUE_OF_CELL(cell) (cell).x
#endif

// One key of the pass's source.
KEY source_key(uint route, uint index) {
    if ((route & ROUTE_FIRST) != 0u)
        return input_key[index];
    if ((route & ROUTE_TO_RESULT) != 0u)
        return spare_key[index];
    return result_key[index];
}

#if VALUE_WORDS
VALUE source_value(uint route, uint index) {
    if ((route & ROUTE_FIRST) != 0u)
        return input_value[index];
    if ((route & ROUTE_TO_RESULT) != 0u)
        return spare_value[index];
    return result_value[index];
}
#endif

void store_key(uint route, uint index, KEY key) {
    if ((route & ROUTE_TO_RESULT) != 0u)
        result_key[index] = key;
    else
        spare_key[index] = key;
}

#if VALUE_WORDS
void store_value(uint route, uint index, VALUE value) {
    if ((route & ROUTE_TO_RESULT) != 0u)
        result_value[index] = value;
    else
        spare_value[index] = value;
}
#endif

// The macros below are used in main(), where `route`, `invocation`, `begin` (the tile's first key) and `held` (its
// number of keys) are known. The branches are the same in the whole workgroup, and are taken once, not for
// each item.

// Loads items[i] from index (row) + i * (step) of the tile, or `filler` if the tile has no such key.
#define LOAD_TILE(items, kind, row, step, filler)                                   \
    if (held < TILE) {                                                              \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i) {                              \
            items[i] = filler;                                                      \
            if ((row) + i * (step) < held)                                          \
                items[i] = source_##kind(route, begin + (row) + i * (step));        \
        }                                                                           \
    } else if ((route & ROUTE_FIRST) != 0u) {                                       \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            items[i] = input_##kind[begin + (row) + i * (step)];                    \
    } else if ((route & ROUTE_TO_RESULT) != 0u) {                                   \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            items[i] = spare_##kind[begin + (row) + i * (step)];                    \
    } else {                                                                        \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            items[i] = result_##kind[begin + (row) + i * (step)];                   \
    }

// Stores items[i], index i * WORKGROUP + invocation of the sorted tile, at target_index[i] of the pass's target.
#define STORE_TILE(items, kind, target_index)                                               \
    if (held < TILE) {                                                              \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            if (i * WORKGROUP + invocation < held)                                       \
                store_##kind(route, target_index[i], items[i]);                             \
    } else if ((route & ROUTE_TO_RESULT) != 0u) {                                   \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            result_##kind[target_index[i]] = items[i];                                      \
    } else {                                                                        \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            spare_##kind[target_index[i]] = items[i];                                       \
    }

// Loads the values of the keys that LOAD_TILE loads; the first pass creates indices.
#define LOAD_VALUES(items, row, step)                                               \
    if (INDICES != 0 && (route & ROUTE_FIRST) != 0u) {                              \
        UNROLLED for (uint i = 0u; i < ITEMS; ++i)                                \
            items[i] = VALUE(begin + (row) + i * (step));                           \
    } else {                                                                        \
        LOAD_TILE(items, value, row, step, VALUE(0u))                               \
    }

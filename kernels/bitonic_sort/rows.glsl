// Sort of rows: the bindings, and the order of elements.
//
// An element is the order of a key (keys.glsl) and the key's index in the row. Elements with equal orders are
// compared by their indices. This makes the sort stable, and every two elements different. Keys and values are
// read again by the index when their position is known.
//
// Macros: those of keys.glsl; INDICES 1: the result is the indices instead of the keys.
#include "../include/kernel.glsl"
#include "../radix_sort/keys.glsl"

#ifndef INDICES
#define INDICES 0
#endif

layout(std430, binding = 0) readonly buffer Keys { KEY keys[]; };
#if INDICES
layout(std430, binding = 1) writeonly buffer Result { uint sorted_indices[]; };
#else
layout(std430, binding = 1) writeonly buffer Result { KEY sorted_keys[]; };
#endif
#if VALUE_WORDS
layout(std430, binding = 2) readonly buffer Values { VALUE values[]; };
layout(std430, binding = 3) writeonly buffer ResultValues { VALUE sorted_values[]; };
#endif

layout(push_constant) uniform Push {
    uint rows;
    uint row_length;
};

struct Element {
    KEY order;
    uint index;
};

bool is_before(Element a, Element b) {
#if KEY_WORDS == 2
    if (a.order.y != b.order.y)
        return a.order.y < b.order.y;
    if (a.order.x != b.order.x)
        return a.order.x < b.order.x;
#else
    if (a.order != b.order)
        return a.order < b.order;
#endif
    return a.index < b.index;
}

// Element of an index in a row. One beyond the end of the row has the greatest order and a greater index than all
// others, so it is last.
Element element_of(uint row, uint index) {
    Element element = Element(KEY(NOTHING), index);
    if (row < rows && index < row_length)
        element.order = ordered(keys[row * row_length + index]);
    return element;
}

// Write the key (or its index) and the value with an index to their position in the sorted row.
void move(uint row, uint index, uint position) {
    if (row >= rows || position >= row_length)
        return;
    uint from = row * row_length + index, to = row * row_length + position;
#if INDICES
    sorted_indices[to] = index;
#else
    sorted_keys[to] = keys[from];
#endif
#if VALUE_WORDS
    sorted_values[to] = values[from];
#endif
}

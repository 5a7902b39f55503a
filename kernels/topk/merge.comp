// One step of a stable merge sort of the rows of a top-k selection, in the order of order.glsl.
//
// The first step (width = 0) sorts blocks of one workgroup's size: each element counts the elements of its
// block before it. Every other step merges neighbouring blocks of `width` elements: the position of an element
// is its position in its own block plus the number of elements of the other block before it, found by a
// binary search. Of equal elements, those of the left block are first.
//
// IOTA: 1: the indices of the elements are their positions in the row; none are read.
//
// Bindings: 0 values and 1 indices before the step, 2 values and 3 indices after it.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#include "order.glsl"

#ifndef IOTA
#define IOTA 0
#endif

layout(std430, binding = 0) readonly restrict buffer Values { Scalar values[]; };
#if !IOTA
layout(std430, binding = 1) readonly restrict buffer Indices { uint indices[]; };
#endif
layout(std430, binding = 2) writeonly restrict buffer NewValues { Scalar new_values[]; };
layout(std430, binding = 3) writeonly restrict buffer NewIndices { uint new_indices[]; };

layout(push_constant) uniform Push {
    uint length;    // elements of a row
    uint rows;
    uint width;
};

shared Key block[WORKGROUP];

Key order_at(uint row, uint i) {
    return order_of(TO_RAW(values[row * length + i]));
}

// The number of elements of the workgroup's block before this invocation's. Elements behind the end of the row
// are not counted. Called by all invocations.
uint rank_in_block(uint row, uint first, uint t) {
    uint n = min(WORKGROUP, length - first);
    if (t < n)
        block[t] = order_at(row, first + t);
    barrier();
    uint rank = 0u;
    if (t < n) {
        Key own = block[t];
        for (uint j = 0u; j < n; ++j)
            rank += uint(j < t ? !less(own, block[j]) : less(block[j], own));
    }
    return rank;
}

// The number of elements in the sorted block from `first` to `end` that come before one of the order `own`.
// `left`: the block is on the left of that element's.
uint rank_in_other(uint row, uint first, uint end, Key own, bool left) {
    uint low = first, high = end;
    while (low < high) {
        uint middle = (low + high) / 2u;
        Key other = order_at(row, middle);
        if (left ? !less(own, other) : less(other, own))
            low = middle + 1u;
        else
            high = middle;
    }
    return low - first;
}

void main() {
    uint groups = (length + WORKGROUP - 1u) / WORKGROUP;
    uint job = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (job >= rows * groups)
        return;
    uint row = job / groups, first = job % groups * WORKGROUP, i = first + gl_LocalInvocationIndex;
    uint position;
    if (width == 0u) {
        position = first + rank_in_block(row, first, gl_LocalInvocationIndex);
    } else if (i < length) {
        uint own_block = i / width, pair = own_block / 2u * 2u * width;
        bool left = own_block % 2u == 1u;    // the other block is on the left
        uint other = left ? pair : min(pair + width, length), end = min(other + width, length);
        position = pair + i % width + rank_in_other(row, other, end, order_at(row, i), left);
    }
    if (i < length) {
        new_values[row * length + position] = values[row * length + i];
#if IOTA
        new_indices[row * length + position] = i;
#else
        new_indices[row * length + position] = indices[row * length + i];
#endif
    }
}

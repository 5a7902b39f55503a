// The first elements of a sorted selection, and their indices.
//
// IOTA: 1: the selection is the whole array, so an element's index is its position; none are read.
//
// Bindings: 0 values and 1 indices of the selection; 2 the positions that sort it; 3 values and 4 indices in
// that order.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"

#ifndef IOTA
#define IOTA 0
#endif

layout(std430, binding = 0) readonly restrict buffer Values { Scalar values[]; };
#if !IOTA
layout(std430, binding = 1) readonly restrict buffer Indices { uint indices[]; };
#endif
layout(std430, binding = 2) readonly restrict buffer Positions { uint positions[]; };
layout(std430, binding = 3) writeonly restrict buffer NewValues { Scalar new_values[]; };
layout(std430, binding = 4) writeonly restrict buffer NewIndices { uint new_indices[]; };

layout(push_constant) uniform Push {
    uint count;    // elements to write
};

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * WORKGROUP + gl_LocalInvocationIndex;
    if (i >= count)
        return;
    uint position = positions[i];
    new_values[i] = values[position];
#if IOTA
    new_indices[i] = position;
#else
    new_indices[i] = indices[position];
#endif
}

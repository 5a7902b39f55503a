// Keys of elements for a radix sort, in the order of order.glsl.
//
// Bindings: 0 elements, 1 their keys: one word, or two for elements of 64 bits.
#version 460
#include "../include/kernel.glsl"
#include "../include/elements.glsl"
#include "order.glsl"

layout(std430, binding = 0) readonly restrict buffer Values { Scalar values[]; };
layout(std430, binding = 1) writeonly restrict buffer Keys { Key keys[]; };

layout(push_constant) uniform Push {
    uint count;
};

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * WORKGROUP + gl_LocalInvocationIndex;
    if (i < count)
        keys[i] = order_of(TO_RAW(values[i]));
}

#version 460
// Turns the greatest key back into the element that has it. key: as aggregation.glsl leaves it. value: one
// element.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"

#ifndef COMPLEMENT
#define COMPLEMENT 0  // 1 for the least key, which came as its complement
#endif

layout(std430, binding = 0) readonly buffer Greatest { uint key; };
layout(std430, binding = 1) writeonly buffer Value { Scalar value; };

// All bits set in a key stand for a NaN in both directions; their own complement would be one as well.
void main() {
    if (gl_GlobalInvocationID.x == 0u) {
#if KIND == FLOATING
        bool is_nan = key == 0xffffffffu;
#else
        bool is_nan = false;
#endif
        value = Scalar(raw_of(COMPLEMENT == 1 && !is_nan ? ~key : key));
    }
}

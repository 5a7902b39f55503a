#version 460
// Converts the greatest key to its element. key: the result of aggregation.glsl. value: one element.
#include "../include/elements.glsl"
#include "../include/kernel.glsl"

#ifndef COMPLEMENT
#define COMPLEMENT 0  // 1 for the least key, which is stored as its complement
#endif

layout(std430, binding = 0) readonly buffer Greatest { uint key; };
layout(std430, binding = 1) writeonly buffer Value { Scalar value; };

// A key with all bits set means NaN for both the maximum and the minimum, so it is not complemented.
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

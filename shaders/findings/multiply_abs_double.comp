// A product of a double and an absolute value: NVK rejects it for Kepler. Compile it, also without the GPU:
// vkgroup cost shaders/findings/multiply_abs_double.comp --device nvk:gk104
#version 460

layout(local_size_x = 64) in;

// Before, the numbers; after, their squares with the sign of the numbers.
layout(binding = 0) buffer Data { double data[]; };

void main() {
    double value = data[gl_GlobalInvocationID.x];
    data[gl_GlobalInvocationID.x] = abs(value) * value;
}

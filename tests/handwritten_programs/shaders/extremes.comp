#version 460
// Minimum and maximum of floats by integer atomics: floats are mapped to uints of the same order.
// values: one float an invocation. extremes: the keys of minimum (0xffffffff before) and maximum (0 before), then
// the number of negative values.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) buffer Extremes {
    uint least;
    uint greatest;
    uint negative;
};

uint key(float value) {
    uint bits = floatBitsToUint(value);
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

void main() {
    float value = values[gl_GlobalInvocationID.x];
    atomicMin(least, key(value));
    atomicMax(greatest, key(value));
    if (value < 0.0) atomicAdd(negative, 1u);
}

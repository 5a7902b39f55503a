#version 460
// A loop with 100,000 iterations. An affected driver exits it after 65,535.
// result: 1 in invocations with another number of iterations.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    // The compiler does not know the value: result contains zeros.
    uint rounds = 100000u + result[index], sum = 0u;
    for (uint i = 0u; i < rounds; ++i)
        sum += result[index] + 1u;
    result[index] = sum == rounds ? 0u : 1u;
}

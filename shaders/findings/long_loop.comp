#version 460
// A loop of 100,000 rounds. On a driver that is wrong it is left after 65,535.
// result: 1 in invocations that counted another number of rounds.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    // Nothing that a compiler could know before it runs: result holds zeros.
    uint rounds = 100000u + result[index], sum = 0u;
    for (uint i = 0u; i < rounds; ++i)
        sum += result[index] + 1u;
    result[index] = sum == rounds ? 0u : 1u;
}

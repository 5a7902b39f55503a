#version 460
// A load in a do-while loop that each invocation leaves after another number of rounds: loads 1, so the sum is the number of rounds.
// On a driver that is wrong the load gives 0 in the last round of invocations that others of the subgroup outlast.
// result: 1 in invocations whose sum is wrong.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    result[index] = 1u;
    uint sum = 0u, round = 0u;
    do {
        sum += result[index];
    } while (round++ < index % 4u);
    result[index] = sum == index % 4u + 1u ? 0u : 1u;
}

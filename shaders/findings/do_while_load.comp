#version 460
// A load in a do-while loop with a different trip count in each invocation. It loads 1, so the sum is the trip count.
// On an affected driver the load returns 0 in the last iteration of invocations that exit before others of the subgroup.
// result: 1 in invocations with a wrong sum.
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

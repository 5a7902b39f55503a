#version 460
// A loop with its test at the end, with one iteration in invocations 0, 2, 4 … and two in the others. No subgroup operation
// is needed.
// result: zeros before; after, the trip count of each invocation, 1 2 1 2 …
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    uint trips = (index & 1u) + 1u;
    uvec2 value = uvec2(result[index]);
    uint trip = 0u;
    do {
        ++trip;
        value += 1u;
    } while (trip < min(trips, 2u));
    result[index] = value.x;
}

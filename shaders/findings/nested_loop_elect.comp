#version 460
// A loop whose trip count depends on the loop around it: one in the first iteration of the outer loop
// (min(6 & 3, 1)), zero in the second (min(12 & 3, 1)). It contains a subgroup operation.
// result: zeros before; after, the path of each invocation, 16 words apart: 3 4 3 22, with 5 instead of 4 in
// invocations that are not elected. An affected driver gives 3 3 4 22: the inner iteration is one outer iteration late.
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer Result { uint result[]; };

uint cursor;

void record(uint what) {
    result[cursor] = what;
    cursor += 16u;
}

void main() {
    cursor = gl_LocalInvocationIndex;
    if (result[cursor] != 7u) {
        uint outer = 0u;
        do {
            ++outer;
            record(3u);
            for (uint trip = 0u; trip < min((5u * outer + outer) & 3u, 1u); ++trip) {
                record(subgroupElect() ? 4u : 5u);
            }
        } while (outer < 2u);
    }
    record(22u);
}

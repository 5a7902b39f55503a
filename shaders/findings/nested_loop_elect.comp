#version 460
// A loop whose trips depend on the loop around it: in the first round of the outer loop it has one trip
// (min(6 & 3, 1)), in the second none (min(12 & 3, 1)). It contains a subgroup operation.
// result: zeros before; after, what each invocation went through, 16 words apart: 3 4 3 22, where 5 stands for 4 in
// invocations that are not elected. A driver that is wrong gives 3 3 4 22: the trip comes a round too late.
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

#version 460
// The greatest value and where it is first, by a tree in shared memory; without subgroup operations.
// values: one float an invocation. best: value and index of each workgroup's greatest.

layout(local_size_x = 128) in;

struct Best {
    float value;
    uint index;
};
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) writeonly buffer Result { Best best[]; };

shared Best candidates[gl_WorkGroupSize.x];

Best better(Best a, Best b) {
    if (a.value > b.value) return a;
    if (a.value < b.value) return b;
    return a.index < b.index ? a : b;
}

void main() {
    uint me = gl_LocalInvocationIndex;
    candidates[me] = Best(values[gl_GlobalInvocationID.x], gl_GlobalInvocationID.x);
    barrier();
    for (uint reach = gl_WorkGroupSize.x / 2u; reach > 0u; reach /= 2u) {
        if (me < reach) candidates[me] = better(candidates[me], candidates[me + reach]);
        barrier();
    }
    if (me == 0u) best[gl_WorkGroupID.x] = candidates[0];
}

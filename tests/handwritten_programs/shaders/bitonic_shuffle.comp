#version 460
// Bitonic sort of each workgroup's values. Partners in the same subgroup exchange by subgroupShuffleXor, others (and
// all, where subgroups are not full) through shared memory.
// values: one int an invocation; sorted ascending in place, workgroup by workgroup.
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Values { int values[]; };

shared int exchange[gl_WorkGroupSize.x];

void main() {
    const uint length = gl_WorkGroupSize.x;
    bool full = gl_NumSubgroups * gl_SubgroupSize == length;
    uint me = full ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationIndex;
    uint start = gl_WorkGroupID.x * length;
    int value = values[start + me];
    for (uint run = 2u; run <= length; run *= 2u) {
        for (uint reach = run / 2u; reach > 0u; reach /= 2u) {
            int other;
            if (full && reach < gl_SubgroupSize) {
                other = subgroupShuffleXor(value, reach);
            } else {
                exchange[me] = value;
                barrier();
                other = exchange[me ^ reach];
                barrier();
            }
            bool ascending = (me & run) == 0u, lower = (me & reach) == 0u;
            value = ascending == lower ? min(value, other) : max(value, other);
        }
    }
    values[start + me] = value;
}

#version 460
// Subgroup operations in branches: each kind of record is summed by the invocations that have one, without being told
// who they are. Right wherever the invocations of a branch are together or apart: they add up their own by atomics.
// records: kind (0 to 3) and value. totals: sum of each kind, and how many values were added; 0 before.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Records { uvec2 records[]; };
layout(std430, binding = 1) buffer Totals { uint sums[4], count; };

void add(uint kind, uint value) {
    uint sum = subgroupAdd(value), together = subgroupBallotBitCount(subgroupBallot(true));
    if (subgroupElect()) {
        atomicAdd(sums[kind], sum);
        atomicAdd(count, together);
    }
}

void main() {
    uvec2 record = records[gl_GlobalInvocationID.x];
    switch (record.x) {
    case 0u:
        add(0u, record.y);
        break;
    case 1u:
        add(1u, 2u * record.y);
        break;
    case 2u:
        for (uint part = 0u; part < record.y % 5u; part++) add(2u, part);
        break;
    default:
        if (record.y % 2u == 0u) {
            add(3u, record.y);
        } else {
            add(3u, 1u);
        }
    }
}

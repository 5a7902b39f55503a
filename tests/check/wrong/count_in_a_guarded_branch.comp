// Inside of the guard, control flow is not uniform: after the inner branch, lanes need not be together.
// run: --lanes linear --full-subgroups --subgroup-size 32,64
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Results { uint results[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < 192u || i > 194u) {
        uint value = values[i];
        if ((value & 1u) == 0u)
            value = value * 3u + 1u;
        bool crowded = subgroupBallotBitCount(subgroupBallot(true)) > 24u; // expect: reconvergence
        results[i] = crowded ? value : 0u;
    }
}

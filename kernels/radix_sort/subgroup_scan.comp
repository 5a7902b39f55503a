// Second step of the radix sort: the first position of each digit's keys in the result of each pass, and the
// passes to run. One workgroup, which scans with subgroup operations. Subgroups are full.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#include "../include/kernel.glsl"
#include "route.glsl"

shared uint partial[PASSES * SUBGROUPS];

void main() {
    uint invocation = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    for (uint p = invocation; p < PASSES; p += WORKGROUP)
        same[p] = 0u;
    barrier();
    for (uint p = 0u; p < PASSES; ++p) {
        uint counts[DIGITS];
        uint sum = load_counts(p, invocation, counts);
        uint before = subgroupExclusiveAdd(sum);
        if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u)
            partial[p * SUBGROUPS + gl_SubgroupID] = before + sum;
        barrier();
        for (uint s = 0u; s < gl_SubgroupID; ++s)
            before += partial[p * SUBGROUPS + s];
        store_places(p, invocation, before, counts);
    }
    if (invocation == 0u)
        store_routes();
}

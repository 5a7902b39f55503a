#version 460
// One atomic operation per subgroup, after subgroup operations have combined the folds of its lanes.
// Operations and bindings: aggregation.glsl.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "aggregation.glsl"

void combine_folds(uint folded) {
#if OPERATION <= MINIMUM
    uint all = subgroupMax(folded);
    if (subgroupElect())
        atomicMax(result, all);
#else
    uint all = subgroupAdd(folded);
    if (subgroupElect() && all > 0u)
        atomicAdd(result, all);
#endif
}

// The highest lane knows the number of slots that all lanes need and allocates them. The slots of the other
// lanes lie below its own.
uint allocate_slots(uint folded) {
    uint through = subgroupInclusiveAdd(folded);
    uint highest = subgroupBallotFindMSB(subgroupBallot(true));
    uint first = 0u;
    if (gl_SubgroupInvocationID == highest && through > 0u)
        first = atomicAdd(result, through);
    return subgroupShuffle(first, highest) + through - folded;
}

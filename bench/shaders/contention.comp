#version 460
#extension GL_KHR_shader_subgroup_basic : require
// Contention of atomics: every invocation takes a number from a counter several times.
//
// AGGREGATED: the lanes of a subgroup take their numbers with one atomic. All lanes of a subgroup must then
// use the same counter. SHARED: each workgroup has its own counters in shared memory, which are added to the
// global ones at the end. binding 0, Places    the counter of each invocation; from memory, so that the
// compiler does not know that they are equal binding 1, Counters  zero at first binding 2, Sums      the sum
// of the numbers that each invocation took
#ifdef AGGREGATED
#extension GL_KHR_shader_subgroup_ballot : require
#endif
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 10) const uint COUNTERS = 256u;  // of a workgroup, if they are in shared memory
layout(std430, binding = 0) readonly buffer Places { uint places[]; };
layout(std430, binding = 1) buffer Counters { uint counters[]; };
layout(std430, binding = 2) writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Push { uint count; uint rounds; } push;
#ifdef SHARED
shared uint memory[COUNTERS];
#define ADD(place, value) atomicAdd(memory[place], value)
#else
#define ADD(place, value) atomicAdd(counters[place], value)
#endif

uint take(uint place) {
#ifdef AGGREGATED
    // The first active lane takes numbers for all lanes, which are assigned in the order of the lanes.
    const uvec4 takers = subgroupBallot(true);
    uint first = 0u;
    if (subgroupElect()) first = ADD(place, subgroupBallotBitCount(takers));
    return subgroupBroadcastFirst(first) + subgroupBallotExclusiveBitCount(takers);
#else
    return ADD(place, 1u);
#endif
}

void main() {
    const uint i = gl_GlobalInvocationID.x, local = gl_LocalInvocationID.x;
#ifdef SHARED
    for (uint k = local; k < COUNTERS; k += gl_WorkGroupSize.x) memory[k] = 0u;
    barrier();
#endif
    if (i < push.count) {
        const uint place = places[i];
        uint sum = 0u;
        for (uint n = 0u; n < push.rounds; ++n) sum += take(place);
        sums[i] = sum;
    }
#ifdef SHARED
    barrier();
    for (uint k = local; k < COUNTERS; k += gl_WorkGroupSize.x) {
        if (memory[k] != 0u) atomicAdd(counters[k], memory[k]);
    }
#endif
}

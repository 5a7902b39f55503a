#version 460
// Counts of each bin, with one atomic operation for all lanes that are in the same bin. Binnings and bindings:
// histogram.glsl.
//
// VOTE asks first whether all elements of a vector, in all lanes, are in one bin: then one lane adds them all.
// Otherwise MATCH finds for each element the lanes that are in the same bin (match.glsl). Both keep atomic
// operations on one address from waiting for each other; copies of the table (table.glsl) do so without asking.
// With IN_MEMORY 1 bins are counted in the device's memory, where there are no copies.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#ifdef PARTITION
#extension GL_NV_shader_subgroup_partitioned : require
#endif
#include "../include/elements.glsl"
#include "../include/kernel.glsl"
#include "histogram.glsl"
#include "table.glsl"
#include "match.glsl"

layout(constant_id = 13) const bool VOTE = true;
layout(constant_id = 14) const uint MATCH = EACH;

#if IN_MEMORY
void begin() {}

void finish() {}

void add(uint bin, uint n) {
    atomicAdd(counts[bin], n);
}
#else
void begin() {
    table_clear();
}

void finish() {
    table_merge();
}

void add(uint bin, uint n) {
    uint copy = INTERLEAVED ? gl_SubgroupInvocationID : gl_SubgroupID;
    atomicAdd(table[place(bin, copy % COPIES)], n);
}
#endif

void count_one(uint found) {
    if (found != DROPPED)
        add(found, 1u);
}

// Lanes in no bin match each other in `bins`, the first number that is no bin's.
uint matched(uint found) {
    if (MATCH == NEIGHBOURS)
        return match_neighbours(found);
    if (MATCH == ROUNDS)
        return match_rounds(found);
#ifdef PARTITION
    if (MATCH == PARTITIONED)
        return match_partitioned(found);
#endif
    return match_ballots(min(found, bins), uint(findMSB(bins)) + 1u);
}

// Called by all invocations of the workgroup together, so that nobody's lanes are missing.
void count_vector(uint found[PER]) {
    if (VOTE) {
        uint first = subgroupBroadcastFirst(found[0]);
        bool same = true;
        [[unroll]] for (uint e = 0u; e < PER; ++e)
            same = same && found[e] == first;
        if (subgroupAll(same)) {
            uint lanes = subgroupBallotBitCount(subgroupBallot(true));
            if (subgroupElect() && first != DROPPED)
                add(first, PER * lanes);
            return;
        }
    }
    [[unroll]] for (uint e = 0u; e < PER; ++e) {
        if (MATCH == EACH) {
            count_one(found[e]);
        } else {
            uint lanes = matched(found[e]);
            if (lanes > 0u && found[e] != DROPPED)
                add(found[e], lanes);
        }
    }
}

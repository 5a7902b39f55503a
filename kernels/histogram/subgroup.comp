#version 460
// Counts of each bin, with one atomic operation for all lanes with the same bin. Binnings and bindings:
// histogram.glsl.
//
// VOTE first tests whether all elements of a vector, in all lanes, are in one bin; if so, one lane counts all
// of them. Otherwise MATCH finds, for each element, the lanes with the same bin (match.glsl). Both avoid
// conflicts of atomic operations on one address; copies of the table (table.glsl) do this without a test.
// With IN_MEMORY 1 bins are counted in device memory, which has no copies.
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
    atomicAdd(table[table_index(bin, copy % COPIES)], n);
}
#endif

void count_one(uint element_bin) {
    if (element_bin != DROPPED)
        add(element_bin, 1u);
}

// Lanes without a bin use the index `bins`, and match each other.
uint matched(uint element_bin) {
    if (MATCH == NEIGHBOURS)
        return match_neighbours(element_bin);
    if (MATCH == ROUNDS)
        return match_rounds(element_bin);
#ifdef PARTITION
    if (MATCH == PARTITIONED)
        return match_partitioned(element_bin);
#endif
    return match_ballots(min(element_bin, bins), uint(findMSB(bins)) + 1u);
}

// Called by all invocations of the workgroup together, so that all lanes take part.
void count_vector(uint element_bin[PER]) {
    if (VOTE) {
        uint first = subgroupBroadcastFirst(element_bin[0]);
        bool same = true;
        [[unroll]] for (uint e = 0u; e < PER; ++e)
            same = same && element_bin[e] == first;
        if (subgroupAll(same)) {
            uint lanes = subgroupBallotBitCount(subgroupBallot(true));
            if (subgroupElect() && first != DROPPED)
                add(first, PER * lanes);
            return;
        }
    }
    [[unroll]] for (uint e = 0u; e < PER; ++e) {
        if (MATCH == EACH) {
            count_one(element_bin[e]);
        } else {
            uint lanes = matched(element_bin[e]);
            if (lanes > 0u && element_bin[e] != DROPPED)
                add(element_bin[e], lanes);
        }
    }
}

// Methods to find the lanes of a subgroup with the same value, so that one lane acts for all of them.
//
// Each function returns the number of lanes that this lane acts for, or 0 if another lane acts for it. The
// sum of these numbers over the lanes with one value is the number of these lanes, for every subgroup size
// and every set of active lanes.
#ifndef MATCH_GLSL
#define MATCH_GLSL

#define EACH 0         // no test: each lane acts for itself
#define NEIGHBOURS 1   // shuffles: the first lane of a run of equal neighbours acts for the run
#define ROUNDS 2       // while lanes are left, broadcastFirst and a ballot
#define BALLOTS 3      // a ballot for each bit of the value
#define PARTITIONED 4  // subgroupPartitionNV; needs the macro PARTITION

// A lane begins a run if it is the lowest lane, or if the lane below is inactive or has another value. The
// run extends to the next beginning. Its length is the difference of ranks among the active lanes, not of
// lane indices.
uint match_neighbours(uint value) {
    uvec4 active_lanes = subgroupBallot(true);
    uint rank = subgroupBallotExclusiveBitCount(active_lanes);
    uint below = subgroupShuffleUp(value, 1u);
    bool first = true;
    if (gl_SubgroupInvocationID > 0u && subgroupBallotBitExtract(active_lanes, gl_SubgroupInvocationID - 1u))
        first = below != value;
    uvec4 later = subgroupBallot(first) & gl_SubgroupGtMask;
    bool is_last = later == uvec4(0u);
    uint next = is_last ? gl_SubgroupInvocationID : subgroupBallotFindLSB(later);
    uint end = subgroupShuffle(rank, next);
    if (is_last)
        end = subgroupBallotBitCount(active_lanes);
    return first ? end - rank : 0u;
}

// One round per distinct value. Lanes that are finished wait for the others, and are not counted again, since
// only lanes that are active in the branch are counted.
uint match_rounds(uint value) {
    uint lanes = 0u;
    bool left = true;
    while (subgroupAny(left)) {
        if (left) {
            if (subgroupBroadcastFirst(value) == value) {
                uvec4 same = subgroupBallot(true);
                if (subgroupElect())
                    lanes = subgroupBallotBitCount(same);
                left = false;
            }
        }
    }
    return lanes;
}

uint acts_for(uvec4 same) {
    return subgroupBallotFindLSB(same) == gl_SubgroupInvocationID ? subgroupBallotBitCount(same) : 0u;
}

// Of the active lanes those stay whose value has the same first bit, of these those with the same second bit,
// and so on.
uint match_ballots(uint value, uint bits) {
    uvec4 same = subgroupBallot(true);
    for (uint b = 0u; b < bits; ++b) {
        bool bit_set = bitfieldExtract(value, int(b), 1) != 0u;
        uvec4 lanes_with_bit = subgroupBallot(bit_set);
        same &= bit_set ? lanes_with_bit : ~lanes_with_bit;
    }
    return acts_for(same);
}

#ifdef PARTITION
uint match_partitioned(uint value) {
    return acts_for(subgroupPartitionNV(value));
}
#endif

#endif

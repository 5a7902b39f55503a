// Which lanes of the subgroup hold the same value: ways to let one lane act for all of them.
//
// Each function gives the number of lanes for which this one acts, 0 where another one does. Over the lanes
// that hold a value these numbers add up to how many there are, at every subgroup size and whichever lanes are
// active.
#ifndef MATCH_GLSL
#define MATCH_GLSL

#define EACH 0         // nobody is asked: each lane acts for itself
#define NEIGHBOURS 1   // shuffles: the first lane of a run of equal neighbours acts for the run
#define ROUNDS 2       // while lanes are left, broadcastFirst and a ballot
#define BALLOTS 3      // a ballot for each bit of the value
#define PARTITIONED 4  // subgroupPartitionNV; needs the macro PARTITION

// A lane begins a run where it is the lowest one, where the lane below is not active, or holds another value.
// The run goes to the next beginning. Ranks among the active lanes, not their numbers, tell how many that are.
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

// As many rounds as there are values. Lanes that act or are acted for wait for the others, and are not counted
// again: what counts is who is active within the branches.
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
        bool one = bitfieldExtract(value, int(b), 1) != 0u;
        uvec4 ones = subgroupBallot(one);
        same &= one ? ones : ~ones;
    }
    return acts_for(same);
}

#ifdef PARTITION
uint match_partitioned(uint value) {
    return acts_for(subgroupPartitionNV(value));
}
#endif

#endif

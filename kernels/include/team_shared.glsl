// A team of invocations that reduces one thing, through shared memory and without subgroup operations.
//
// TEAM = 0: the whole workgroup. Otherwise TEAM invocations that follow each other in the workgroup: a power
// of two that divides its size.
//
// Before this file there must be: the type State, and combine(a, b), commutative and associative but for
// rounding.

layout(constant_id = 10) const uint TEAM = 0;
layout(constant_id = 11) const uint RADIX = 4;    // states that become one in each round of the tree

shared State slots[WORKGROUP];

uint team_lanes() {
    return TEAM == 0u ? WORKGROUP : min(TEAM, WORKGROUP);
}

uint team_lane() {
    return gl_LocalInvocationIndex % team_lanes();
}

uint teams() {
    return WORKGROUP / team_lanes();
}

uint team() {
    return gl_LocalInvocationIndex / team_lanes();
}

// To be called by all before team_combine() is called again: slots may still be read.
void team_barrier() {
    if (TEAM != 1u)
        barrier();
}

// Combine the states of a team; each of its invocations gets the result.
State team_combine(State s) {
    if (TEAM == 1u)
        return s;
    uint lane = team_lane();
    uint base = gl_LocalInvocationIndex - lane;
    slots[gl_LocalInvocationIndex] = s;
    barrier();
    // In each round the first `next` lanes take what the lanes a multiple of `next` above them have:
    // neighbours read neighbours, so no bank of shared memory is asked twice, and what a round reads lies
    // above all that it writes, so a round needs one barrier. A radix above two makes fewer rounds.
    for (uint left = team_lanes(); left > 1u;) {
        uint next = (left + RADIX - 1u) / RADIX;
        if (lane < next) {
            [[unroll]] for (uint j = 1u; j < RADIX; ++j)
                if (lane + j * next < left)
                    s = combine(s, slots[base + lane + j * next]);
            slots[base + lane] = s;
        }
        barrier();
        left = next;
    }
    return slots[base];
}

// Teams of invocations that combine their states through shared memory, without subgroup operations.
//
// TEAM = 0: the whole workgroup. Otherwise TEAM consecutive invocations of the workgroup: a power of two that
// divides its size.
//
// Required before this file: the type State, and combine(a, b), commutative and associative except for
// rounding.

layout(constant_id = 10) const uint TEAM = 0;
layout(constant_id = 11) const uint RADIX = 4;    // states that are combined into one in each round

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

// All invocations must call this before the next team_combine(), since slots may still be read.
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
    // In each round, each of the first `next` lanes combines the states of lanes at multiples of `next` above
    // it. Neighbors read adjacent slots, so there are no bank conflicts. A round reads only slots above those
    // that it writes, so it needs one barrier. A greater radix needs fewer rounds.
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

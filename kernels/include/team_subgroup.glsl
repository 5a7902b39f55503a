// Teams of invocations that combine their states with subgroup operations.
//
// TEAM = 0: the whole workgroup. Otherwise TEAM invocations of one subgroup, a power of two. Smaller
// subgroups have smaller teams, so the size of a team is known only at run time: team_lanes().
//
// Required before this file: the type State; identity(); combine(a, b), commutative and associative except
// for rounding; subgroup_combine(s), which combines the states of all active invocations of the subgroup; and
// exchange(s, mask), the state of the lane with the index XOR `mask`.

#extension GL_KHR_shader_subgroup_basic : require

layout(constant_id = 10) const uint TEAM = 0;

shared State slots[SUBGROUPS];

uint team_lanes() {
    return TEAM == 0u ? WORKGROUP : min(TEAM, gl_SubgroupSize);
}

uint team_lane() {
    return TEAM == 0u ? gl_LocalInvocationIndex : gl_SubgroupInvocationID % team_lanes();
}

uint teams() {
    return TEAM == 0u ? 1u : gl_NumSubgroups * (gl_SubgroupSize / team_lanes());
}

uint team() {
    if (TEAM == 0u)
        return 0u;
    return gl_SubgroupID * (gl_SubgroupSize / team_lanes()) + gl_SubgroupInvocationID / team_lanes();
}

// All invocations must call this before the next team_combine(), since slots may still be read.
void team_barrier() {
    if (TEAM == 0u)
        barrier();
}

// Combine the states of a team; each of its invocations gets the result.
State team_combine(State s) {
    if (TEAM != 0u && team_lanes() < gl_SubgroupSize) {
        // Teams that share a subgroup: each lane exchanges with the lane whose index differs in one bit, for
        // each bit of an index in the team, so teams stay separate. All lanes are active here.
        for (uint mask = team_lanes() / 2u; mask > 0u; mask /= 2u)
            s = combine(s, exchange(s, mask));
        return s;
    }
    s = subgroup_combine(s);
    if (TEAM != 0u || gl_NumSubgroups == 1u)
        return s;
    // One state per subgroup remains. Every subgroup combines all of these, which avoids a second barrier to
    // distribute the result. A loop is needed, since there may be more subgroups than lanes in a subgroup.
    if (subgroupElect())
        slots[gl_SubgroupID] = s;
    barrier();
    s = identity();
    for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize)
        s = combine(s, slots[i]);
    return subgroup_combine(s);
}

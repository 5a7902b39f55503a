// A team of invocations that reduces one thing, by subgroup operations.
//
// TEAM = 0: the whole workgroup. Otherwise TEAM invocations of one subgroup, a power of two; subgroups that
// are smaller make smaller teams, so the size of a team is known at run time only: team_lanes().
//
// Before this file there must be: the type State; identity(); combine(a, b), commutative and associative but
// for rounding; subgroup_combine(s), which combines the states of all active invocations of the subgroup;
// and exchange(s, mask), the state of the lane whose number differs by `mask`.

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

// To be called by all before team_combine() is called again: slots may still be read.
void team_barrier() {
    if (TEAM == 0u)
        barrier();
}

// Combine the states of a team; each of its invocations gets the result.
State team_combine(State s) {
    if (TEAM != 0u && team_lanes() < gl_SubgroupSize) {
        // Teams that share a subgroup: lanes exchange with the one whose number differs in one bit, for each
        // bit of a place in the team, so none looks at another team. All lanes are active here.
        for (uint mask = team_lanes() / 2u; mask > 0u; mask /= 2u)
            s = combine(s, exchange(s, mask));
        return s;
    }
    s = subgroup_combine(s);
    if (TEAM != 0u || gl_NumSubgroups == 1u)
        return s;
    // One state of each subgroup is left. Every subgroup combines all of them again, instead of one that
    // would have to tell the others through a second barrier. There may be more of them than a subgroup has
    // lanes (even of one lane each), hence the loop.
    if (subgroupElect())
        slots[gl_SubgroupID] = s;
    barrier();
    s = identity();
    for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize)
        s = combine(s, slots[i]);
    return subgroup_combine(s);
}

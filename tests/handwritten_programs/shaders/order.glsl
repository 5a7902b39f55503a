// Numbers a workgroup's invocations from 0 on, subgroup by subgroup, and in each by its lanes: the order in which
// the subgroups' scans go, whatever the layout of subgroups. Needs GL_KHR_shader_subgroup_ballot, and the local size
// declared before it is included.

shared uint order_sizes[gl_WorkGroupSize.x];

uint subgroup_order() {
    uvec4 present = subgroupBallot(true);
    if (subgroupElect()) order_sizes[gl_SubgroupID] = subgroupBallotBitCount(present);
    barrier();
    uint first = 0u;
    for (uint before = 0u; before < gl_SubgroupID; before++) first += order_sizes[before];
    return first + subgroupBallotExclusiveBitCount(present);
}

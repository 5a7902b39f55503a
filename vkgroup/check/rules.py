"""Rules of the specification, and remedies, by kind of event or cause."""

RULES = {
    "race": "if two invocations access the same memory and one writes, a barrier or atomics must order them",
    "same_value": "Vulkan's memory model calls it a data race: write from one invocation or with atomics",
    "barrier": "all invocations of a workgroup must execute the same barriers",
    "inactive_lane": "the value read from an inactive lane is undefined",
    "lane_out_of_range": "the value read from a lane outside the subgroup is undefined",
    "quad": "the value read from a lane outside the quad is undefined",
    "cooperative_matrix": "the specification of cooperative matrices leaves this undefined",
    "not_uniform": "this operand must be the same in all active lanes, else the result is undefined",
    "cluster": "a cluster must not be larger than the subgroup, else the result is undefined",
    "partition": "the ballots must be a partition of the active lanes, else the result is undefined",
    "empty_ballot": "the index of a bit is undefined if no bit is set",
    "uninitialised": "unwritten memory holds undefined values",
    "alignment": "an access must begin at a multiple of the size of its numbers",
    "shift": "a shift by the width of the number or more is undefined",
    "division": "the quotient and the remainder of integers are undefined if the divisor is zero",
}
"""Rules, where the message does not state the rule."""

REMEDIES = {
    "inactive_lane": "read only active lanes: move the operation before the branch or the return, test the"
    " lane with subgroupBallot(true), or use an operation that leaves inactive lanes out (subgroupAdd)",
    "lane_out_of_range": "compare the lane with gl_SubgroupSize, and use another value beyond it",
    "quad": "use a lane of the quad (0 to 3)",
    "not_uniform": "give all active lanes the same value, for example with subgroupBroadcastFirst()",
    "cluster": "limit the cluster to gl_SubgroupSize, or let the host require a subgroup size",
    "partition": "make the ballots with subgroupPartitionNV()",
    "empty_ballot": "test that the ballot is not zero before",
    "uninitialised": "write the memory before it is read, in every workgroup, with a barrier() between the"
    " write and a read by another invocation",
    "shift": "test the distance before, or mask it with the width minus one",
    "division": "test the divisor before the division",
    "alignment": "access narrower numbers, or make the offset a multiple of the size",
    "other_workgroup": "barrier() does not order workgroups: let each write elements of its own, use atomics,"
    " or read in a later dispatch",
}
"""Remedies of single rules; other findings have that of their kind."""

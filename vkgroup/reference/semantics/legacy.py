"""The functions of GL_ARB_shader_ballot and GL_ARB_shader_group_vote, which subgroup functions replaced.

A ballot is the uvec4 of SPV_KHR_shader_ballot, whose first 64 bits GLSL's uint64_t has.
"""

from __future__ import annotations

from vkgroup.reference.semantics.ballot import subgroup_ballot, subgroup_broadcast, subgroup_broadcast_first
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words
from vkgroup.reference.semantics.vote import subgroup_all, subgroup_all_equal, subgroup_any


def ballot_arb(value: Flags, active: Flags) -> Lanes:
    """Return one bit for each lane: set where the lane is active and its `value` is true.

    SPV_KHR_shader_ballot, OpSubgroupBallotKHR: what ballotARB() becomes.
    """
    return subgroup_ballot(value, active)


def read_invocation_arb(value: Values, active: Flags, id: Words) -> Lanes:
    """Return `value` of the lane `id`.

    SPV_KHR_shader_ballot, OpSubgroupReadInvocationKHR: what readInvocationARB() becomes. Undefined if the
    active lanes do not agree in `id`, and where there is no such active lane to read.
    """
    return subgroup_broadcast(value, active, id)


def read_first_invocation_arb(value: Values, active: Flags) -> Lanes:
    """Return `value` of the active lane with the lowest index.

    SPV_KHR_shader_ballot, OpSubgroupFirstInvocationKHR: what readFirstInvocationARB() becomes.
    """
    return subgroup_broadcast_first(value, active)


def any_invocation_arb(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in any active lane.

    SPV_KHR_subgroup_vote, OpSubgroupAnyKHR: what anyInvocationARB() becomes.
    """
    return subgroup_any(value, active)


def all_invocations_arb(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in all active lanes.

    SPV_KHR_subgroup_vote, OpSubgroupAllKHR: what allInvocationsARB() becomes.
    """
    return subgroup_all(value, active)


def all_invocations_equal_arb(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is the same in all active lanes.

    SPV_KHR_subgroup_vote, OpSubgroupAllEqualKHR: what allInvocationsEqualARB() becomes.
    """
    return subgroup_all_equal(value, active)

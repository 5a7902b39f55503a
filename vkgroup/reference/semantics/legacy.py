"""The functions of GL_ARB_shader_ballot and GL_ARB_shader_group_vote, which the subgroup functions replaced.

A ballot is the uvec4 of SPV_KHR_shader_ballot; GLSL's uint64_t holds its first 64 bits.
"""

from __future__ import annotations

from vkgroup.reference.semantics.ballot import subgroup_ballot, subgroup_broadcast, subgroup_broadcast_first
from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words
from vkgroup.reference.semantics.vote import subgroup_all, subgroup_all_equal, subgroup_any


@defines("ballotARB")
def ballot_arb(value: Flags, active: Flags) -> Lanes:
    """“Computes a bitfield value combining the Predicate value from all invocations in the current Subgroup
    that execute the same dynamic instance of this instruction. The bit is set to one if the corresponding
    invocation is active and the predicate is evaluated to true; otherwise, it is set to zero.”

    SPV_KHR_shader_ballot, revision 11, section 3.32.21, OpSubgroupBallotKHR. ballotARB() is the GLSL function
    that becomes this instruction.
    """
    return subgroup_ballot(value, active)


@defines("readInvocationARB")
def read_invocation_arb(value: Values, active: Flags, id: Words) -> Lanes:
    """“Return the Value from the invocation in the subgroup with an invocation ID equal to Index. The Index
    must be the same for all active invocations in the subgroup, otherwise the results are undefined.”

    SPV_KHR_shader_ballot, revision 11, section 3.32.21, OpSubgroupReadInvocationKHR. readInvocationARB() is
    the GLSL function that becomes this instruction. The result is undefined where there is no such active
    lane.
    """
    return subgroup_broadcast(value, active, id)


@defines("readFirstInvocationARB")
def read_first_invocation_arb(value: Values, active: Flags) -> Lanes:
    """“Return the Value from the invocation in the current subgroup which has the lowest subgroup local
    invocation ID, and which executes the same dynamic instance of this instruction.”

    SPV_KHR_shader_ballot, revision 11, section 3.32.21, OpSubgroupFirstInvocationKHR.
    readFirstInvocationARB() is the GLSL function that becomes this instruction.
    """
    return subgroup_broadcast_first(value, active)


@defines("anyInvocationARB")
def any_invocation_arb(value: Flags, active: Flags) -> Lanes:
    """“Evaluates a predicate for all invocations in the current Subgroup that execute the same dynamic
    instance of this instruction, resulting in true if Predicate evaluates to true for any such invocations,
    otherwise the result is false.”

    SPV_KHR_subgroup_vote, revision 6, section 3.32.21, OpSubgroupAnyKHR. anyInvocationARB() is the GLSL
    function that becomes this instruction.
    """
    return subgroup_any(value, active)


@defines("allInvocationsARB")
def all_invocations_arb(value: Flags, active: Flags) -> Lanes:
    """“Evaluates a predicate for all invocations in the current Subgroup that execute the same dynamic
    instance of this instruction, resulting in true if Predicate evaluates to true for all such invocations,
    otherwise the result is false.”

    SPV_KHR_subgroup_vote, revision 6, section 3.32.21, OpSubgroupAllKHR. allInvocationsARB() is the GLSL
    function that becomes this instruction.
    """
    return subgroup_all(value, active)


@defines("allInvocationsEqualARB")
def all_invocations_equal_arb(value: Flags, active: Flags) -> Lanes:
    """“Evaluates a predicate for all invocations in the current Subgroup that execute the same dynamic
    instance of this instruction, resulting in true if Predicate evaluates the same for such invocations,
    otherwise the result is false.”

    SPV_KHR_subgroup_vote, revision 6, section 3.32.21, OpSubgroupAllEqualKHR. allInvocationsEqualARB() is the
    GLSL function that becomes this instruction.
    """
    return subgroup_all_equal(value, active)

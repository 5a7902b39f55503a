"""Ballot functions (GL_KHR_shader_subgroup_ballot), and the built-in variables of KHR_shader_subgroup."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.semantics.lanes import (
    SHARED,
    Flags,
    Lanes,
    Values,
    Words,
    defines,
    everywhere,
    first_active,
    lane_index,
    pack,
    read,
    same_in_all,
    scalar,
    uniform,
    unpack,
)


@defines("subgroupBroadcast")
def subgroup_broadcast(value: Values, active: Flags, id: Words) -> Lanes:
    """“The function subgroupBroadcast() returns the <value> from the invocation whose
    <gl_SubgroupInvocationID> is equal to <id>. <id> must be an integral constant expression. If the <id> is
    an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is returned.”

    KHR_shader_subgroup, revision 6, section 8.18. The result is undefined as well if the active lanes do not
    agree in `id`: the text requires a constant, SPIR-V 1.5 a dynamically uniform value
    (OpGroupNonUniformBroadcast).
    """
    result = read(value, id.astype(np.int64), active)
    return Lanes(result.value, result.defined & same_in_all(id, active)[:, None, None])


@defines("subgroupBroadcastFirst")
def subgroup_broadcast_first(value: Values, active: Flags) -> Lanes:
    """“The function subgroupBroadcastFirst() returns the <value> from the active invocation with the lowest
    <gl_SubgroupInvocationID>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(value[np.arange(len(value)), first_active(active)], active)


@defines("subgroupBallot")
def subgroup_ballot(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupBallot() returns a set of bitfields containing the result of evaluating the
    expression <value> in all active invocations in the subgroup. If <value> evaluates to true for an active
    invocation then the bit corresponding to the <gl_SubgroupInvocationID> for the invocation is set to one in
    the result, otherwise the bit is set to zero. Bits corresponding to inactive invocations are set to zero.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(pack(value[:, :, 0] & active), active)


@defines("subgroupInverseBallot")
def subgroup_inverse_ballot(value: Words, active: Flags) -> Lanes:
    """“The function subgroupInverseBallot() returns a bool that is true if the bit in <value> that
    corresponds to the current invocation's <gl_SubgroupInvocationID> in <value> is true. All active
    invocations must call subgroupInverseBallot() with the same <value>.”

    KHR_shader_subgroup, revision 6, section 8.18. The result is undefined if the active lanes do not all pass
    the same `value`.
    """
    size = active.shape[1]
    lane = lane_index(size)
    result = everywhere(unpack(value, size)[:, lane, lane, None], active)
    return Lanes(result.value, result.defined & same_in_all(value, active)[:, None, None])


@defines("subgroupBallotBitExtract")
def subgroup_ballot_bit_extract(value: Words, active: Flags, index: Words) -> Lanes:
    """“The function subgroupBallotBitExtract() returns a bool that is true if the bit in <value> that
    corresponds to <index> (where <index> begins at bit 0 of the first vector component) is 1, and false
    otherwise. If <index> is greater than or equal to <gl_SubgroupSize>, an undefined result is returned.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    size = active.shape[1]
    inside = index < size
    position = np.where(inside, index, 0)[:, :, None].astype(np.int64)
    bit = np.take_along_axis(unpack(value, size), position, axis=2)
    return Lanes(bit, (active & inside)[:, :, None])


def _count(bit: Flags, active: Flags) -> Lanes:
    """Return the number of `bit` (subgroups, size, size) set, for each lane."""
    return everywhere(bit.sum(axis=2, dtype=np.uint32)[:, :, None], active)


@defines("subgroupBallotBitCount")
def subgroup_ballot_bit_count(value: Words, active: Flags) -> Lanes:
    """“The function subgroupBallotBitCount() returns the number of bits that are set to 1 in the bits used to
    hold the subgroup invocations of <value>. The bits are counted across the components of <value>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return _count(unpack(value, active.shape[1]), active)


@defines("subgroupBallotInclusiveBitCount")
def subgroup_ballot_inclusive_bit_count(value: Words, active: Flags) -> Lanes:
    """“The function subgroupBallotInclusiveBitCount() returns the number of bits that are set to 1 in the
    ballot value for subgroup invocations with a lower, or equal to, <gl_SubgroupInvocationID>. The bits are
    inclusively counted across the components of <value>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    lane = lane_index(active.shape[1])
    return _count(unpack(value, lane.size) & (lane <= lane[:, None]), active)


@defines("subgroupBallotExclusiveBitCount")
def subgroup_ballot_exclusive_bit_count(value: Words, active: Flags) -> Lanes:
    """“The function subgroupBallotExclusiveBitCount() returns the number of bits that are set to 1 in the
    ballot value for subgroup invocations with a lower <gl_SubgroupInvocationID>. The bits are exclusively
    counted across the components of <value>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    lane = lane_index(active.shape[1])
    return _count(unpack(value, lane.size) & (lane < lane[:, None]), active)


@defines("subgroupBallotFindLSB")
def subgroup_ballot_find_lsb(value: Words, active: Flags) -> Lanes:
    """“The function subgroupBallotFindLSB() returns the bit number of the least significant bit set to 1 in
    the bits used to hold the subgroup invocations of <value>. If <value> is 0, an undefined value is
    returned.”

    KHR_shader_subgroup, revision 6, section 8.18. Only the bits that stand for lanes count.
    """
    bit = unpack(value, active.shape[1])
    lowest = bit.argmax(axis=2).astype(np.uint32)
    return Lanes(lowest[:, :, None], (active & bit.any(axis=2))[:, :, None])


@defines("subgroupBallotFindMSB")
def subgroup_ballot_find_msb(value: Words, active: Flags) -> Lanes:
    """“The function subgroupBallotFindMSB() returns the bit number of the most significant bit set to 1 in
    the bits used to hold the subgroup invocations of <value>. If <value> is 0, an undefined value is
    returned.”

    KHR_shader_subgroup, revision 6, section 8.18. Only the bits that stand for lanes count.
    """
    size = active.shape[1]
    bit = unpack(value, size)
    highest = (size - 1 - bit[:, :, ::-1].argmax(axis=2)).astype(np.uint32)
    return Lanes(highest[:, :, None], (active & bit.any(axis=2))[:, :, None])


# GLSL's functions become the instructions of SPV_KHR_shader_ballot, whose ballot is a uvec4; the uint64_t of
# ballotARB() holds its first 64 bits.
SHARED.update(
    {
        "ballotARB": subgroup_ballot,
        "readInvocationARB": subgroup_broadcast,
        "readFirstInvocationARB": subgroup_broadcast_first,
    }
)


@defines("gl_NumSubgroups")
def num_subgroups(active: Flags, *, subgroups_per_workgroup: int | None = None) -> Lanes:
    """“If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_NumSubgroups> is a
    compute-shader built-in containing the number of subgroups within the local workgroup. The value of this
    variable is at least 1, and is uniform across the invocation group.”

    KHR_shader_subgroup, revision 6, section 7.1. The rows of `active` are the subgroups of workgroups in
    order, `subgroups_per_workgroup` of each (None: all rows are of one workgroup).
    """
    return scalar(subgroups_per_workgroup or len(active), active)


@defines("gl_SubgroupID")
def subgroup_id(active: Flags, *, subgroups_per_workgroup: int | None = None) -> Lanes:
    """“If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_SubgroupID> is a
    compute-shader built-in containing the index of the subgroup within the local workgroup. The value of this
    variable is in the range 0 to <gl_NumSubgroups>-1.”

    KHR_shader_subgroup, revision 6, section 7.1. Rows are as in `num_subgroups`, in the order of their index.
    """
    row = np.arange(len(active)) % (subgroups_per_workgroup or max(len(active), 1))
    return scalar(row[:, None], active)


@defines("gl_SubgroupSize")
def subgroup_size(active: Flags) -> Lanes:
    """“If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_SubgroupSize> is the number
    of invocations within a subgroup, and its value is always a power of 2.”

    KHR_shader_subgroup, revision 6, section 7.1. Inactive invocations count.
    """
    return scalar(active.shape[1], active)


@defines("gl_SubgroupInvocationID")
def subgroup_invocation_id(active: Flags) -> Lanes:
    """“If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_SubgroupInvocationID> is a
    built-in containing the index of an invocation within a subgroup. The value of this variable is in the
    range 0 to <gl_SubgroupSize>-1.”

    KHR_shader_subgroup, revision 6, section 7.1.
    """
    return scalar(lane_index(active.shape[1]), active)


def mask(relation: Callable[[Any, Any], npt.NDArray[np.bool_]], active: Flags) -> Lanes:
    """Return the ballot in which a bit is set where `relation(bit index, lane)` holds.

    “the <gl_Subgroup??Mask> variables are built-ins that provide a bitmask of all invocations, with one bit
    per invocation.” (KHR_shader_subgroup, revision 6, section 7.1.) Bits from gl_SubgroupSize on are zero
    (Vulkan 1.4, built-in variables, SubgroupEqMask).
    """
    lane = lane_index(active.shape[1])
    ballot = pack(relation(lane[None, :], lane[:, None]))
    return everywhere(np.broadcast_to(ballot, (*active.shape, 4)), active)


SHARED.update(
    {
        "gl_SubgroupEqMask": partial(mask, np.equal),
        "gl_SubgroupGeMask": partial(mask, np.greater_equal),
        "gl_SubgroupGtMask": partial(mask, np.greater),
        "gl_SubgroupLeMask": partial(mask, np.less_equal),
        "gl_SubgroupLtMask": partial(mask, np.less),
    }
)

"""Ballot functions: GL_KHR_shader_subgroup_ballot."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.bits import pack, unpack
from vkgroup.reference.semantics.lanes import (
    Flags,
    Lanes,
    Values,
    Words,
    everywhere,
    first_active,
    lane_index,
    read,
    same_in_all,
    uniform,
)


def subgroup_broadcast(value: Values, active: Flags, id: Words) -> Lanes:
    """Return `value` of the lane `id`.

    Undefined if that lane is inactive or `id` is at least gl_SubgroupSize: KHR_shader_subgroup, section
    8.18, subgroupBroadcast(). Undefined as well if the active lanes do not agree in `id`: the text asks for a
    constant, SPIR-V 1.5 for a dynamically uniform value (OpGroupNonUniformBroadcast).
    """
    result = read(value, id.astype(np.int64), active)
    return Lanes(result.value, result.defined & same_in_all(id, active)[:, None, None])


def subgroup_broadcast_first(value: Values, active: Flags) -> Lanes:
    """Return `value` of the active lane with the lowest gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 8.18, subgroupBroadcastFirst().
    """
    return uniform(value[np.arange(len(value)), first_active(active)], active)


def subgroup_ballot(value: Flags, active: Flags) -> Lanes:
    """Return one bit for each lane: set where the lane is active and its `value` is true.

    KHR_shader_subgroup, section 8.18, subgroupBallot(). All other bits are zero.
    """
    return uniform(pack(value[:, :, 0] & active), active)


def subgroup_inverse_ballot(value: Words, active: Flags) -> Lanes:
    """Return the lane's own bit of the ballot `value`.

    KHR_shader_subgroup, section 8.18, subgroupInverseBallot(). Undefined if the active lanes of the
    subgroup do not all pass the same `value`.
    """
    size = active.shape[1]
    lane = lane_index(size)
    result = everywhere(unpack(value, size)[:, lane, lane, None], active)
    return Lanes(result.value, result.defined & same_in_all(value, active)[:, None, None])


def subgroup_ballot_bit_extract(value: Words, active: Flags, index: Words) -> Lanes:
    """Return bit `index` of the ballot `value`.

    KHR_shader_subgroup, section 8.18, subgroupBallotBitExtract(). Undefined if `index` is at least
    gl_SubgroupSize.
    """
    size = active.shape[1]
    inside = index < size
    place = np.where(inside, index, 0)[:, :, None].astype(np.int64)
    bit = np.take_along_axis(unpack(value, size), place, axis=2)
    return Lanes(bit, (active & inside)[:, :, None])


def _count(bit: Flags, active: Flags) -> Lanes:
    """Return the number of `bit` (subgroups, size, size) set, for each lane."""
    return everywhere(bit.sum(axis=2, dtype=np.uint32)[:, :, None], active)


def subgroup_ballot_bit_count(value: Words, active: Flags) -> Lanes:
    """Return how many bits of the ballot `value` are set, of those that stand for lanes.

    KHR_shader_subgroup, section 8.18, subgroupBallotBitCount().
    """
    return _count(unpack(value, active.shape[1]), active)


def subgroup_ballot_inclusive_bit_count(value: Words, active: Flags) -> Lanes:
    """Return how many bits of the ballot `value` are set for this and lower lanes.

    KHR_shader_subgroup, section 8.18, subgroupBallotInclusiveBitCount().
    """
    lane = lane_index(active.shape[1])
    return _count(unpack(value, lane.size) & (lane <= lane[:, None]), active)


def subgroup_ballot_exclusive_bit_count(value: Words, active: Flags) -> Lanes:
    """Return how many bits of the ballot `value` are set for lower lanes.

    KHR_shader_subgroup, section 8.18, subgroupBallotExclusiveBitCount().
    """
    lane = lane_index(active.shape[1])
    return _count(unpack(value, lane.size) & (lane < lane[:, None]), active)


def subgroup_ballot_find_lsb(value: Words, active: Flags) -> Lanes:
    """Return the number of the lowest bit set in the ballot `value`.

    KHR_shader_subgroup, section 8.18, subgroupBallotFindLSB(). Undefined if none of the bits that stand for
    lanes is set.
    """
    bit = unpack(value, active.shape[1])
    lowest = bit.argmax(axis=2).astype(np.uint32)
    return Lanes(lowest[:, :, None], (active & bit.any(axis=2))[:, :, None])


def subgroup_ballot_find_msb(value: Words, active: Flags) -> Lanes:
    """Return the number of the highest bit set in the ballot `value`.

    KHR_shader_subgroup, section 8.18, subgroupBallotFindMSB(). Undefined if none of the bits that stand for
    lanes is set.
    """
    size = active.shape[1]
    bit = unpack(value, size)
    highest = (size - 1 - bit[:, :, ::-1].argmax(axis=2)).astype(np.uint32)
    return Lanes(highest[:, :, None], (active & bit.any(axis=2))[:, :, None])

"""The built-in variables of KHR_shader_subgroup (section 7.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.semantics.bits import pack
from vkgroup.reference.semantics.lanes import Flags, Lanes, everywhere, lane_index


def _scalar(value: Any, active: Flags) -> Lanes:
    """Return a uint in each lane: `value` is broadcast to (subgroups, size)."""
    value = np.broadcast_to(np.asarray(value, dtype=np.uint32), active.shape)
    return everywhere(value[:, :, None], active)


def num_subgroups(active: Flags, *, subgroups_per_workgroup: int | None = None) -> Lanes:
    """gl_NumSubgroups: the number of subgroups in the workgroup, the same in each of its invocations.

    KHR_shader_subgroup, section 7.1. The rows of `active` are the subgroups of one workgroup after the
    other, `subgroups_per_workgroup` of each (None: all rows are of one workgroup).
    """
    return _scalar(subgroups_per_workgroup or len(active), active)


def subgroup_id(active: Flags, *, subgroups_per_workgroup: int | None = None) -> Lanes:
    """gl_SubgroupID: the subgroup's index in its workgroup, from 0 to gl_NumSubgroups - 1.

    KHR_shader_subgroup, section 7.1. Rows are as in `num_subgroups`, in the order of their index.
    """
    row = np.arange(len(active)) % (subgroups_per_workgroup or max(len(active), 1))
    return _scalar(row[:, None], active)


def subgroup_size(active: Flags) -> Lanes:
    """gl_SubgroupSize: the number of invocations in a subgroup, active or not.

    KHR_shader_subgroup, section 7.1.
    """
    return _scalar(active.shape[1], active)


def subgroup_invocation_id(active: Flags) -> Lanes:
    """gl_SubgroupInvocationID: the lane's index, from 0 to gl_SubgroupSize - 1.

    KHR_shader_subgroup, section 7.1.
    """
    return _scalar(lane_index(active.shape[1]), active)


def _mask(relation: Callable[[Any, Any], npt.NDArray[np.bool_]], active: Flags) -> Lanes:
    """Return the ballot in which a bit is set where `relation(bit index, lane)` holds."""
    lane = lane_index(active.shape[1])
    mask = pack(relation(lane[None, :], lane[:, None]))
    return everywhere(np.broadcast_to(mask, (*active.shape, 4)), active)


def subgroup_eq_mask(active: Flags) -> Lanes:
    """gl_SubgroupEqMask: the bits whose index is equal to gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 7.1. Bits from gl_SubgroupSize on are zero in this and the other masks
    (Vulkan, built-in variables, SubgroupEqMask).
    """
    return _mask(np.equal, active)


def subgroup_ge_mask(active: Flags) -> Lanes:
    """gl_SubgroupGeMask: the bits whose index is at least gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 7.1.
    """
    return _mask(np.greater_equal, active)


def subgroup_gt_mask(active: Flags) -> Lanes:
    """gl_SubgroupGtMask: the bits whose index is above gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 7.1.
    """
    return _mask(np.greater, active)


def subgroup_le_mask(active: Flags) -> Lanes:
    """gl_SubgroupLeMask: the bits whose index is at most gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 7.1.
    """
    return _mask(np.less_equal, active)


def subgroup_lt_mask(active: Flags) -> Lanes:
    """gl_SubgroupLtMask: the bits whose index is below gl_SubgroupInvocationID.

    KHR_shader_subgroup, section 7.1.
    """
    return _mask(np.less, active)

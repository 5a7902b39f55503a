"""The built-in variables of KHR_shader_subgroup (section 7.1)."""

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
    defines,
    everywhere,
    lane_index,
    pack,
    scalar,
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

"""Relative shuffle functions: GL_KHR_shader_subgroup_shuffle_relative."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read


def subgroup_shuffle_up(value: Values, active: Flags, delta: Words) -> Lanes:
    """Return `value` of the lane whose index is this lane's minus `delta`.

    KHR_shader_subgroup, section 8.18, subgroupShuffleUp(). Undefined if that lane is inactive or its index
    would be below zero: nothing wraps around.
    """
    return read(value, lane_index(active.shape[1]) - delta.astype(np.int64), active)


def subgroup_shuffle_down(value: Values, active: Flags, delta: Words) -> Lanes:
    """Return `value` of the lane whose index is this lane's plus `delta`.

    KHR_shader_subgroup, section 8.18, subgroupShuffleDown(). Undefined if that lane is inactive or its index
    would be gl_SubgroupSize or more: nothing wraps around.
    """
    return read(value, lane_index(active.shape[1]) + delta.astype(np.int64), active)

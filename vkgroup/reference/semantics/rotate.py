"""Rotate functions: GL_KHR_shader_subgroup_rotate."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.groups import divides
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read, same_in_all


def subgroup_rotate(value: Values, active: Flags, delta: Words) -> Lanes:
    """Return `value` of the lane `delta` lanes on, the first lane following the last.

    KHR_shader_subgroup_rotate, section 8.18, subgroupRotate(). Undefined if that lane is inactive, and if
    the active lanes do not agree in `delta`, which must be dynamically uniform.
    """
    return subgroup_clustered_rotate(value, active, delta, active.shape[1])


def subgroup_clustered_rotate(value: Values, active: Flags, delta: Words, cluster_size: int) -> Lanes:
    """Return `value` of the lane that `subgroup_rotate` would take were this lane's cluster a subgroup.

    KHR_shader_subgroup_rotate, section 8.18, subgroupClusteredRotate(); the index is SPIR-V's formula
    (OpGroupNonUniformRotateKHR). Undefined as in `subgroup_rotate`, and everywhere if `cluster_size` is no
    power of two or exceeds the size of the subgroup.
    """
    if not divides(cluster_size, active.shape[1]):
        return Lanes(value, np.zeros(value.shape, dtype=np.bool_))
    lane = lane_index(active.shape[1])
    inside = cluster_size - 1
    source = ((lane + delta.astype(np.int64)) & inside) + (lane & ~inside)
    result = read(value, source, active)
    return Lanes(result.value, result.defined & same_in_all(delta, active)[:, None, None])

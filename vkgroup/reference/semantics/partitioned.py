"""The function that partitions a subgroup: GL_NV_shader_subgroup_partitioned."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values


@defines("subgroupPartitionNV")
def subgroup_partition_nv(value: Values, active: Flags) -> Lanes:
    """“The function subgroupPartitionNV() returns a ballot that is a valid partition of the active
    invocations such that all invocations in each subset of the partition have the same value of <value>. For
    any two invocations in different subsets of the partition, either their values of <value> must not be
    equal or one must be a floating point NaN.”

    NV_shader_subgroup_partitioned, revision 1, section 8.18. A lane with a NaN is alone in its subset, but
    its result is undefined where the value of another lane might count as the same.
    """
    ballot = np.zeros((*active.shape, 4), dtype=np.uint32)
    alike = np.zeros(active.shape, dtype=np.int64)
    missing = value != value
    for lane in range(active.shape[1]):
        equal = value == value[:, lane, None]
        taking_part = active & active[:, lane, None]
        alike += (equal | (missing & missing[:, lane, None])).all(axis=2) & taking_part
        bit = np.uint32(1 << lane % 32)
        ballot[:, :, lane // 32] |= np.where(equal.all(axis=2) & taking_part, bit, np.uint32(0))
        ballot[:, lane, lane // 32] |= bit
    known = active & ~(missing.any(axis=2) & (alike > 1))
    return Lanes(ballot, np.broadcast_to(known[:, :, None], ballot.shape))

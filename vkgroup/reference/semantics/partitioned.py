"""Partitioned functions, reductions and scans of seven operators: GL_NV_shader_subgroup_partitioned.

A subset is of active lanes. Ballots that are no valid partition leave everything undefined; see `partitions`.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.groups import OPERATORS
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words
from vkgroup.reference.semantics.partitions import partitioned


def subgroup_partition_nv(value: Values, active: Flags) -> Lanes:
    """Return the ballot of the active lanes whose `value` equals this lane's in every component.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionNV(). Lanes of one subset have the same
    value, and of lanes in different ones the values differ or one is NaN (SPIR-V,
    OpGroupNonUniformPartitionNV). So a lane with a NaN is alone, but undefined where another lane's value
    might pass as the same.
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


def subgroup_partitioned_add_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the sum of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedAddNV(). Integers wrap; the order in
    which floats are added is the implementation's.
    """
    return partitioned(OPERATORS["Add"], "Reduce", value, active, ballot)


def subgroup_partitioned_mul_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the product of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedMulNV(). Integers wrap; the order in
    which floats are multiplied is the implementation's.
    """
    return partitioned(OPERATORS["Mul"], "Reduce", value, active, ballot)


def subgroup_partitioned_min_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the minimum of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedMinNV(). A NaN gives way to any other
    value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Min"], "Reduce", value, active, ballot)


def subgroup_partitioned_max_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the maximum of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedMaxNV(). A NaN gives way to any other
    value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Max"], "Reduce", value, active, ballot)


def subgroup_partitioned_and_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the AND of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedAndNV(). Bit by bit for integers,
    logical for bool.
    """
    return partitioned(OPERATORS["And"], "Reduce", value, active, ballot)


def subgroup_partitioned_or_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the inclusive OR of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedOrNV(). Bit by bit for integers,
    logical for bool.
    """
    return partitioned(OPERATORS["Or"], "Reduce", value, active, ballot)


def subgroup_partitioned_xor_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the exclusive OR of `value` over this lane's subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedXorNV(). Bit by bit for integers,
    logical for bool.
    """
    return partitioned(OPERATORS["Xor"], "Reduce", value, active, ballot)


def subgroup_partitioned_inclusive_add_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the sum of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveAddNV(). Integers wrap; the
    order in which floats are added is the implementation's.
    """
    return partitioned(OPERATORS["Add"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_mul_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the product of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveMulNV(). Integers wrap; the
    order in which floats are multiplied is the implementation's.
    """
    return partitioned(OPERATORS["Mul"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_min_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the minimum of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveMinNV(). A NaN gives way to
    any other value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Min"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_max_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the maximum of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveMaxNV(). A NaN gives way to
    any other value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Max"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_and_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the AND of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveAndNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["And"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_or_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the inclusive OR of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveOrNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["Or"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_inclusive_xor_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the exclusive OR of `value` over this and the lower lanes of its subset.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedInclusiveXorNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["Xor"], "InclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_add_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the sum of `value` over its subset's lower lanes; the first gets zero (+0.0).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveAddNV(). Integers wrap; the
    order in which floats are added is the implementation's.
    """
    return partitioned(OPERATORS["Add"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_mul_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the product of `value` over its subset's lower lanes; the first gets one.

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveMulNV(). Integers wrap; the
    order in which floats are multiplied is the implementation's.
    """
    return partitioned(OPERATORS["Mul"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_min_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the minimum of `value` over its subset's lower lanes; the first gets the largest (+infinity).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveMinNV(). A NaN gives way to
    any other value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Min"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_max_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the maximum of `value` over its subset's lower lanes; the first gets the lowest (-infinity).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveMaxNV(). A NaN gives way to
    any other value; undefined where all values used are NaN.
    """
    return partitioned(OPERATORS["Max"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_and_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the AND of `value` over its subset's lower lanes; the first gets all bits set (true).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveAndNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["And"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_or_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the inclusive OR of `value` over its subset's lower lanes; the first gets zero (false).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveOrNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["Or"], "ExclusiveScan", value, active, ballot)


def subgroup_partitioned_exclusive_xor_nv(value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return the exclusive OR of `value` over its subset's lower lanes; the first gets zero (false).

    NV_shader_subgroup_partitioned, section 8.18, subgroupPartitionedExclusiveXorNV(). Bit by bit for
    integers, logical for bool.
    """
    return partitioned(OPERATORS["Xor"], "ExclusiveScan", value, active, ballot)

"""Clustered functions, reductions of seven operators over clusters: GL_KHR_shader_subgroup_clustered.

A cluster is as many lanes as the size says, from a multiple of that size on (KHR_shader_subgroup, section
3.8, "A cluster as used by"). A size beyond gl_SubgroupSize is undefined behaviour.
"""

from __future__ import annotations

from vkgroup.reference.semantics.groups import OPERATORS, clustered
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values


def subgroup_clustered_add(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the sum of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredAdd(). Integers wrap; the order in which floats
    are added is the implementation's.
    """
    return clustered(OPERATORS["Add"], value, active, cluster_size)


def subgroup_clustered_mul(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the product of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredMul(). Integers wrap; the order in which floats
    are multiplied is the implementation's.
    """
    return clustered(OPERATORS["Mul"], value, active, cluster_size)


def subgroup_clustered_min(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the minimum of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredMin(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return clustered(OPERATORS["Min"], value, active, cluster_size)


def subgroup_clustered_max(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the maximum of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredMax(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return clustered(OPERATORS["Max"], value, active, cluster_size)


def subgroup_clustered_and(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the AND of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredAnd(). Bit by bit for integers, logical for bool.
    """
    return clustered(OPERATORS["And"], value, active, cluster_size)


def subgroup_clustered_or(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the inclusive OR of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredOr(). Bit by bit for integers, logical for bool.
    """
    return clustered(OPERATORS["Or"], value, active, cluster_size)


def subgroup_clustered_xor(value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return the exclusive OR of `value` over the active lanes of this lane's cluster.

    KHR_shader_subgroup, section 8.18, subgroupClusteredXor(). Bit by bit for integers, logical for bool.
    """
    return clustered(OPERATORS["Xor"], value, active, cluster_size)

"""Arithmetic functions, reductions and scans of seven operators: GL_KHR_shader_subgroup_arithmetic."""

from __future__ import annotations

from vkgroup.reference.semantics.groups import OPERATORS, reduce, scan
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values


def subgroup_add(value: Values, active: Flags) -> Lanes:
    """Return the sum of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupAdd(). Integers wrap; the order in which floats are added
    is the implementation's.
    """
    return reduce(OPERATORS["Add"], value, active)


def subgroup_mul(value: Values, active: Flags) -> Lanes:
    """Return the product of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupMul(). Integers wrap; the order in which floats are
    multiplied is the implementation's.
    """
    return reduce(OPERATORS["Mul"], value, active)


def subgroup_min(value: Values, active: Flags) -> Lanes:
    """Return the minimum of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupMin(). A NaN gives way to any other value; undefined where
    all values used are NaN.
    """
    return reduce(OPERATORS["Min"], value, active)


def subgroup_max(value: Values, active: Flags) -> Lanes:
    """Return the maximum of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupMax(). A NaN gives way to any other value; undefined where
    all values used are NaN.
    """
    return reduce(OPERATORS["Max"], value, active)


def subgroup_and(value: Values, active: Flags) -> Lanes:
    """Return the AND of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupAnd(). Bit by bit for integers, logical for bool.
    """
    return reduce(OPERATORS["And"], value, active)


def subgroup_or(value: Values, active: Flags) -> Lanes:
    """Return the inclusive OR of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupOr(). Bit by bit for integers, logical for bool.
    """
    return reduce(OPERATORS["Or"], value, active)


def subgroup_xor(value: Values, active: Flags) -> Lanes:
    """Return the exclusive OR of `value` over all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupXor(). Bit by bit for integers, logical for bool.
    """
    return reduce(OPERATORS["Xor"], value, active)


def subgroup_inclusive_add(value: Values, active: Flags) -> Lanes:
    """Return the sum of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveAdd(). Integers wrap; the order in which floats
    are added is the implementation's.
    """
    return scan(OPERATORS["Add"], "InclusiveScan", value, active)


def subgroup_inclusive_mul(value: Values, active: Flags) -> Lanes:
    """Return the product of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveMul(). Integers wrap; the order in which floats
    are multiplied is the implementation's.
    """
    return scan(OPERATORS["Mul"], "InclusiveScan", value, active)


def subgroup_inclusive_min(value: Values, active: Flags) -> Lanes:
    """Return the minimum of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveMin(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return scan(OPERATORS["Min"], "InclusiveScan", value, active)


def subgroup_inclusive_max(value: Values, active: Flags) -> Lanes:
    """Return the maximum of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveMax(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return scan(OPERATORS["Max"], "InclusiveScan", value, active)


def subgroup_inclusive_and(value: Values, active: Flags) -> Lanes:
    """Return the AND of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveAnd(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["And"], "InclusiveScan", value, active)


def subgroup_inclusive_or(value: Values, active: Flags) -> Lanes:
    """Return the inclusive OR of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveOr(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["Or"], "InclusiveScan", value, active)


def subgroup_inclusive_xor(value: Values, active: Flags) -> Lanes:
    """Return the exclusive OR of `value` over this and the lower active lanes.

    KHR_shader_subgroup, section 8.18, subgroupInclusiveXor(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["Xor"], "InclusiveScan", value, active)


def subgroup_exclusive_add(value: Values, active: Flags) -> Lanes:
    """Return the sum of `value` over the lower active lanes; the first gets zero (+0.0).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveAdd(). Integers wrap; the order in which floats
    are added is the implementation's.
    """
    return scan(OPERATORS["Add"], "ExclusiveScan", value, active)


def subgroup_exclusive_mul(value: Values, active: Flags) -> Lanes:
    """Return the product of `value` over the lower active lanes; the first gets one.

    KHR_shader_subgroup, section 8.18, subgroupExclusiveMul(). Integers wrap; the order in which floats
    are multiplied is the implementation's.
    """
    return scan(OPERATORS["Mul"], "ExclusiveScan", value, active)


def subgroup_exclusive_min(value: Values, active: Flags) -> Lanes:
    """Return the minimum of `value` over the lower active lanes; the first gets the largest (+infinity).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveMin(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return scan(OPERATORS["Min"], "ExclusiveScan", value, active)


def subgroup_exclusive_max(value: Values, active: Flags) -> Lanes:
    """Return the maximum of `value` over the lower active lanes; the first gets the lowest (-infinity).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveMax(). A NaN gives way to any other value;
    undefined where all values used are NaN.
    """
    return scan(OPERATORS["Max"], "ExclusiveScan", value, active)


def subgroup_exclusive_and(value: Values, active: Flags) -> Lanes:
    """Return the AND of `value` over the lower active lanes; the first gets all bits set (true).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveAnd(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["And"], "ExclusiveScan", value, active)


def subgroup_exclusive_or(value: Values, active: Flags) -> Lanes:
    """Return the inclusive OR of `value` over the lower active lanes; the first gets zero (false).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveOr(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["Or"], "ExclusiveScan", value, active)


def subgroup_exclusive_xor(value: Values, active: Flags) -> Lanes:
    """Return the exclusive OR of `value` over the lower active lanes; the first gets zero (false).

    KHR_shader_subgroup, section 8.18, subgroupExclusiveXor(). Bit by bit for integers, logical for bool.
    """
    return scan(OPERATORS["Xor"], "ExclusiveScan", value, active)

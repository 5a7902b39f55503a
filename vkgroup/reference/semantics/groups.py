"""Reductions and scans with any operator: the arithmetic and the clustered functions.

They combine the values of the active invocations in the order of gl_SubgroupInvocationID, in the type of the
values. Integers wrap modulo 2^bits. “The method that is used to perform the operation on each active
invocation's <value> is implementation defined” (KHR_shader_subgroup, revision 6, section 8.18,
subgroupAdd()), so that for floats this order is one of many; `vkgroup.reference.precision` bounds the results
of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, before, everywhere, uniform


@dataclass(frozen=True)
class Operator:
    """An associative operation of two values."""

    name: str  # as in the names of the functions, ``"Add"``
    combine: np.ufunc  # the operation in NumPy, component by component
    kinds: str  # NumPy's kinds of the types that have it

    @property
    def selects(self) -> bool:
        """Whether the result is one of the values, so that the rules on NaN apply: Min and Max."""
        return self.name in ("Min", "Max")


OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        Operator("Add", np.add, "fiu"),
        Operator("Mul", np.multiply, "fiu"),
        Operator("Min", np.minimum, "fiu"),
        Operator("Max", np.maximum, "fiu"),
        Operator("And", np.bitwise_and, "iub"),
        Operator("Or", np.bitwise_or, "iub"),
        Operator("Xor", np.bitwise_xor, "iub"),
    )
}
"""The seven operators by name."""


def identity(operator: Operator, dtype: np.dtype[Any]) -> np.generic:
    """Return the result of an exclusive scan in the first active lane.

    “I() is an identity function taken from the following table” (KHR_shader_subgroup, revision 6, section
    3.8).
    """
    value: Any = 0
    if operator.name == "Mul":
        value = 1
    elif operator.name == "And":
        value = ~np.zeros((), dtype)
    elif operator.selects and dtype.kind == "f":
        value = np.inf if operator.name == "Min" else -np.inf
    elif operator.selects:
        value = np.iinfo(dtype).max if operator.name == "Min" else np.iinfo(dtype).min
    scalar: np.generic = dtype.type(value)
    return scalar


def _neutral(operator: Operator, dtype: np.dtype[Any]) -> np.generic:
    """Return e with e <op> x = x for every x, to stand in inactive lanes.

    It is I(), except for the addition of floats: +0.0 + -0.0 is +0.0, so only -0.0 leaves every x unchanged.
    """
    if operator.name == "Add" and dtype.kind == "f":
        negative_zero: np.generic = dtype.type(-0.0)
        return negative_zero
    return identity(operator, dtype)


def _accumulate(operator: Operator, value: Values) -> Values:
    """Return the inclusive scan over all lanes of `value`."""
    with np.errstate(all="ignore"):
        return np.asarray(operator.combine.accumulate(value, axis=1, dtype=value.dtype))


def _seen(used: Flags, group: str) -> Flags:
    """Return the lanes whose scan includes a lane of `used`."""
    seen = np.logical_or.accumulate(used, axis=1)
    return before(seen, False) if group == "ExclusiveScan" else seen


def _choice_is_open(group: str, value: Values, used: Flags, result: Values) -> Flags:
    """Return where Min or Max may be either zero: the result is zero, and both +0.0 and -0.0 take part.

    GLSL's min(x, y) is y if y < x, else x, and -0.0 < +0.0 is false: the sign depends on the order.
    """
    negative = np.signbit(value)
    zero = used & (value == 0)
    if group == "Reduce":
        both = (zero & negative).any(axis=1) & (zero & ~negative).any(axis=1)
    else:
        both = _seen(zero & negative, group) & _seen(zero & ~negative, group)
    return np.asarray(both & (result == 0))


def reduce(operator: Operator, value: Values, active: Flags) -> Lanes:
    """Return x(0) <op> ... <op> x(n-1) over the n active lanes, in each of them.

    “From the set of <value>s provided by active invocations within a subgroup, if for any two <value>s of
    them is a NaN, the other is chosen. If all <value>s that are used by the current invocation are NaN, then
    the result is undefined.” (KHR_shader_subgroup, revision 6, section 3.8, minimum and maximum.) A minimum
    or maximum is undefined also where both +0.0 and -0.0 may be the result.
    """
    if not (operator.selects and value.dtype.kind == "f"):
        filled = np.where(active[:, :, None], value, _neutral(operator, value.dtype))
        return uniform(_accumulate(operator, filled)[:, -1], active)
    used = active[:, :, None] & ~np.isnan(value)
    result = operator.combine.reduce(np.where(used, value, identity(operator, value.dtype)), axis=1)
    known = np.any(used, axis=1)
    if (result == 0).any():
        known = known & ~_choice_is_open("Reduce", value, used, result)
    lanes = uniform(result, active)
    return Lanes(lanes.value, lanes.defined & known[:, None, :])


def scan(operator: Operator, group: str, value: Values, active: Flags) -> Lanes:
    """Return in the i-th active lane x(0) <op> ... <op> x(i), or up to x(i-1) if exclusive.

    “The inclusive scan operations are defined, over the set of n active invocations within a subgroup, to
    return [x(0), x(0) <op> x(1), ..., x(0) <op> x(1) <op> ... <op> x(n-1)], where x(i) is the <value> in the
    i'th active invocation.” “The exclusive scan operations are defined, over the set of n active invocations
    within a subgroup, to return [I(), x(0), x(0) <op> x(1), ..., x(0) <op> x(1) <op> ... <op> x(n-2)], where
    x(i) is the <value> in the i'th active invocation.” (KHR_shader_subgroup, revision 6, section 3.8.) NaN
    and zeros of either sign are as in `reduce`. `group` is "InclusiveScan" or "ExclusiveScan".
    """
    first = identity(operator, value.dtype)
    used = active[:, :, None]
    selects_floats = operator.selects and value.dtype.kind == "f"
    if selects_floats:
        used = used & ~np.isnan(value)
    result = _accumulate(operator, np.where(used, value, _neutral(operator, value.dtype)))
    if group == "ExclusiveScan":
        earlier = _seen(active[:, :, None], group)
        result = np.where(earlier, before(result, first), first)
    lanes = everywhere(result, active)
    if not selects_floats:
        return lanes
    known = _seen(used, group)
    if group == "ExclusiveScan":
        known = known | ~earlier
    if (result == 0).any():
        known = known & ~_choice_is_open(group, value, used, result)
    return Lanes(result, lanes.defined & known)


def divides(cluster_size: int, size: int) -> bool:
    """Return whether a subgroup of `size` lanes has clusters of `cluster_size`, a power of two."""
    return 1 <= cluster_size <= size and not cluster_size & (cluster_size - 1)


def clustered(operator: Operator, value: Values, active: Flags, cluster_size: int) -> Lanes:
    """Return `reduce` within each cluster.

    “A cluster as used by a clustered operation is defined such that for all invocations within the cluster,
    their <gl_SubgroupInvocationID> is in [x, x+1, x+2, ..., x+n-1], where n is the cluster size, and x is a
    multiple of n.” (KHR_shader_subgroup, revision 6, section 3.8.) The result is undefined everywhere if
    `cluster_size` is no power of two or exceeds the size of the subgroup.
    """
    subgroups, size, components = value.shape
    if not divides(cluster_size, size):
        return Lanes(value, np.zeros(value.shape, dtype=np.bool_))
    split = (subgroups * (size // cluster_size), cluster_size)
    lanes = reduce(operator, value.reshape(*split, components), active.reshape(split))
    return Lanes(lanes.value.reshape(value.shape), lanes.defined.reshape(value.shape))

"""Reductions and scans with any operator: the arithmetic, clustered and partitioned functions.

They combine the values of the active invocations in the order of gl_SubgroupInvocationID, in the type of the
values. Integers wrap modulo 2^bits. “The method that is used to perform the operation on each active
invocation's <value> is implementation defined” (KHR_shader_subgroup, revision 6, section 8.18,
subgroupAdd()), so that for floats this order is one of many; `vkgroup.reference.precision` bounds the results
of all.

`vkgroup.reference.registry` applies `reduce`, `scan`, `clustered` and `partitioned` to the operator of a
function: the result of subgroupClusteredAdd is `clustered` of Add. The functions of
GL_NV_shader_subgroup_partitioned combine the values of each subset of a partition of the subgroup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.semantics.lanes import (
    Flags,
    Lanes,
    Values,
    Words,
    before,
    defines,
    everywhere,
    lane_index,
    uniform,
    unpack,
)


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


def subset_of(ballot: Words, active: Flags) -> tuple[npt.NDArray[np.int64], Flags]:
    """Return the lowest lane of each active lane's subset, and whether the ballots are a partition.

    NV_shader_subgroup_partitioned, section 3.8: ballots are a valid partition if each active lane's has the
    lane's own bit, and equals the ballot of every active lane whose bit it has. Bits from gl_SubgroupSize on
    are ignored. The lanes, (subgroups, size), are valid only where the second result, (subgroups,), is true.
    """
    subgroups, size = active.shape
    rows = np.arange(subgroups)[:, None]
    lane = lane_index(size)
    bit = unpack(ballot, size)
    member = bit & active[:, None, :]
    lowest = member.argmax(axis=2)
    equal = (bit == bit[rows, lowest]).all(axis=2)
    # Lanes with the ballot of their lowest lane are a subset if the ballot has no bits of other lanes.
    inhabitants = np.zeros((subgroups, size), dtype=np.int64)
    np.add.at(inhabitants, (np.broadcast_to(rows, active.shape)[active], lowest[active]), 1)
    whole = inhabitants[rows, lowest] == member.sum(axis=2)
    fits = bit[:, lane, lane] & equal & whole
    return lowest, np.asarray((fits | ~active).all(axis=1))


class Subsets(NamedTuple):
    """The subsets of partitions, one in each row, with their lanes in order."""

    #: (lanes,) the index of each lane that is in a subset, among (subgroups × size).
    sources: npt.NDArray[np.int64]
    #: `row`, `rank`: (lanes,) its row, and its index there.
    row: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int64]
    members: Flags  # (subsets, most) bool, where a row has a lane

    def gathered(self, value: Values) -> Values:
        """Return the values of the rows: (subgroups, size, components) → (subsets, most, components)."""
        components = value.shape[2]
        result = np.zeros((*self.members.shape, components), dtype=value.dtype)
        result[self.row, self.rank] = value.reshape(-1, components)[self.sources]
        return result

    def scattered(self, rows: Values, shape: tuple[int, ...]) -> Values:
        """Return the values of the rows in their lanes, zeros elsewhere: the inverse of `gathered`."""
        result = np.zeros((shape[0] * shape[1], shape[2]), dtype=rows.dtype)
        result[self.sources] = rows[self.row, self.rank]
        return result.reshape(shape)


def subsets_of(ballot: Words, active: Flags) -> Subsets:
    """Return the subsets of the active lanes of those subgroups whose ballots are a partition."""
    size = active.shape[1]
    lowest, valid = subset_of(ballot, active)
    index = np.flatnonzero(active & valid[:, None])
    label = index // size * size + lowest.reshape(-1)[index]
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    counts = np.diff(starts, append=len(order))
    row = np.repeat(np.arange(len(starts)), counts)
    rank = np.arange(len(order)) - starts[row]
    members = np.zeros((len(starts), int(counts.max(initial=1))), dtype=np.bool_)
    members[row, rank] = True
    return Subsets(index[order], row, rank, members)


def partitioned(operator: Operator, group: str, value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return a reduction or scan in each subset of the partition that the active lanes' ballots form.

    “The scan/reduce is computed for each subset of the partition.” “If the <ballot> parameter to any
    partitioned subgroup operation is not a valid partition, then the result is undefined.”
    (NV_shader_subgroup_partitioned, revision 1, section 3.8.) `group` is "Reduce", "InclusiveScan" or
    "ExclusiveScan".
    """
    subsets = subsets_of(ballot, active)
    values = subsets.gathered(value)
    if group == "Reduce":
        lanes = reduce(operator, values, subsets.members)
    else:
        lanes = scan(operator, group, values, subsets.members)
    return Lanes(subsets.scattered(lanes.value, value.shape), subsets.scattered(lanes.defined, value.shape))


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

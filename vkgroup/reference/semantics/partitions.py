"""Partitions of a subgroup, and reductions and scans in each subset: GL_NV_shader_subgroup_partitioned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.semantics.groups import Operator, reduce, scan
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, defines, lane_index, unpack


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

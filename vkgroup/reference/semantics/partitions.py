"""Partitions of a subgroup: which ballots are one, and reductions and scans in each of their subsets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.semantics.bits import unpack
from vkgroup.reference.semantics.groups import Operator, reduce, scan
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index


def subset_of(ballot: Words, active: Flags) -> tuple[npt.NDArray[np.int64], Flags]:
    """Return the lowest lane of each active lane's subset, and whether the ballots are a partition.

    NV_shader_subgroup_partitioned, section 3.8: ballots are a valid partition if each active lane's has the
    lane's own bit, and equals the ballot of every active lane whose bit it has. Bits from gl_SubgroupSize on
    are ignored. The lanes, (subgroups, size), mean nothing where the other, (subgroups,), is false.

    Parameters
    ----------
    ballot : (subgroups, size, 4)
    active : (subgroups, size)
    """
    subgroups, size = active.shape
    rows = np.arange(subgroups)[:, None]
    lane = lane_index(size)
    bit = unpack(ballot, size)
    member = bit & active[:, None, :]
    lowest = member.argmax(axis=2)
    equal = (bit == bit[rows, lowest]).all(axis=2)
    # Lanes whose ballots equal their lowest lane's: a subset, if its bits stand for no other lane.
    inhabitants = np.zeros((subgroups, size), dtype=np.int64)
    np.add.at(inhabitants, (np.broadcast_to(rows, active.shape)[active], lowest[active]), 1)
    whole = inhabitants[rows, lowest] == member.sum(axis=2)
    fits = bit[:, lane, lane] & equal & whole
    return lowest, np.asarray((fits | ~active).all(axis=1))


def partitioned(operator: Operator, group: str, value: Values, active: Flags, ballot: Words) -> Lanes:
    """Return a reduction or scan in each subset of the partition that the active lanes' ballots are.

    Parameters
    ----------
    group : {"Reduce", "InclusiveScan", "ExclusiveScan"}
    value : (subgroups, size, components)
    active : (subgroups, size)
    ballot : (subgroups, size, 4)

    Every subset is treated as a subgroup of its own. Undefined in all lanes of a subgroup whose ballots are
    no valid partition (NV_shader_subgroup_partitioned, section 3.8).
    """
    subgroups, size, components = value.shape
    lowest, valid = subset_of(ballot, active)
    place = np.flatnonzero(active & valid[:, None])
    result = np.zeros((subgroups * size, components), dtype=value.dtype)
    defined = np.zeros((subgroups * size, components), dtype=np.bool_)
    if len(place):
        label = place // size * size + lowest.reshape(-1)[place]
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        counts = np.diff(starts, append=len(order))
        row = np.repeat(np.arange(len(starts)), counts)
        rank = np.arange(len(order)) - starts[row]
        sources = place[order]
        members = np.zeros((len(starts), int(counts.max())), dtype=np.bool_)
        members[row, rank] = True
        values = np.zeros((*members.shape, components), dtype=value.dtype)
        values[row, rank] = value[sources // size, sources % size]
        if group == "Reduce":
            lanes = reduce(operator, values, members)
        else:
            lanes = scan(operator, group, values, members)
        result[sources] = lanes.value[row, rank]
        defined[sources] = lanes.defined[row, rank]
    return Lanes(result.reshape(value.shape), defined.reshape(value.shape))

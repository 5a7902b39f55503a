"""Layout of a workgroup's invocations in subgroups and lanes: observations and extents.

The observations come from ``shaders/probe/layout.comp``; `size`, `mapping` and `fullness` draw conclusions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Extent = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Layout:
    """Subgroup and lane that each invocation of one workgroup recorded.

    All arrays have shape (invocations,), dtype uint32, in the order of ``gl_LocalInvocationIndex``.

    Attributes
    ----------
    extent : the workgroup's size in x, y and z.
    subgroup_size, subgroup_id, lane, num_subgroups : the built-in variables.
    ballot_bits : bits set in ``subgroupBallot(true)``; None on a device without ballot.
    leader : local index of the first active invocation of the same subgroup; None without ballot.
    """

    extent: Extent
    subgroup_size: Words
    subgroup_id: Words
    lane: Words
    num_subgroups: Words
    ballot_bits: Words | None = None
    leader: Words | None = None

    @staticmethod
    def from_words(extent: Extent, words: Words, ballot: bool) -> Layout:
        """Return the layout from binding 0 of ``layout.comp``, with shape (invocations, 8)."""
        return Layout(
            extent,
            subgroup_size=words[:, 0],
            subgroup_id=words[:, 1],
            lane=words[:, 2],
            num_subgroups=words[:, 3],
            ballot_bits=words[:, 4] if ballot else None,
            leader=words[:, 5] if ballot else None,
        )

    @property
    def invocations(self) -> int:
        """Number of invocations in the workgroup."""
        return int(np.prod(self.extent))

    @cached_property
    def subgroup(self) -> Words:
        """Number of the actual subgroup of each invocation.

        The number is ``gl_SubgroupID``. If subgroup operations reach other invocations than those with the
        same ``gl_SubgroupID``, subgroups are determined by the operations and numbered by their first
        invocations.
        """
        if self.leader is None or _same_partition(self.subgroup_id, self.leader):
            return self.subgroup_id
        return np.unique(self.leader, return_inverse=True)[1].reshape(-1).astype(np.uint32)

    @cached_property
    def populations(self) -> tuple[int, ...]:
        """Number of invocations of each subgroup that has any, in the order of `subgroup`."""
        return tuple(int(count) for count in np.unique(self.subgroup, return_counts=True)[1])


def contradictions(layout: Layout) -> tuple[str, ...]:
    """Return the contradictions between built-in variables of one workgroup; empty on a correct device."""
    problems = []
    if (layout.lane >= layout.subgroup_size).any():
        problems.append("gl_SubgroupInvocationID is not below gl_SubgroupSize")
    if (layout.subgroup_id >= layout.num_subgroups).any():
        problems.append("gl_SubgroupID is not below gl_NumSubgroups")
    lanes = np.stack([layout.subgroup_id, layout.lane], axis=1)
    if len(np.unique(lanes, axis=0)) != layout.invocations:
        problems.append("two invocations have the same gl_SubgroupID and gl_SubgroupInvocationID")
    if layout.leader is not None and not _same_partition(layout.subgroup_id, layout.leader):
        problems.append(
            "invocations with one gl_SubgroupID are not those that subgroupBroadcastFirst reaches"
        )
    if layout.ballot_bits is not None:
        _, group, counts = np.unique(layout.subgroup, return_inverse=True, return_counts=True)
        if (counts[group.reshape(-1)] != layout.ballot_bits).any():
            problems.append("subgroupBallot(true) does not have as many bits as the subgroup has invocations")
    return tuple(problems)


def _same_partition(first: Words, second: Words) -> bool:
    pairs = len(np.unique(np.stack([first, second], axis=1), axis=0))
    return pairs == len(np.unique(first)) == len(np.unique(second))


def text_of(extent: Extent, axes: int | None = None) -> str:
    """Return an extent as text: ``64``, ``8x8``, ``4x4x4``, or with `axes` axes."""
    return "x".join(str(size) for size in extent[: axes or dimensions(extent)])


def dimensions(extent: Extent) -> int:
    """Return the number of dimensions of an extent: 1, 2 or 3."""
    return 3 if extent[2] > 1 else 2 if extent[1] > 1 else 1


def extents(size: int, limits: Mapping[str, int]) -> tuple[Extent, ...]:
    """Return workgroup sizes of one, two and three dimensions, some of them multiples of the subgroup size.

    Parameters
    ----------
    size : subgroup size, 1 to 128.
    limits : maximum workgroup of the device, with the keys "invocations", "x", "y" and "z".

    Returns
    -------
    Extents within the limits. Those with odd sizes are not multiples of any subgroup size above 1.
    """
    total = max(64, 4 * size)
    while total > limits["invocations"]:
        total //= 2
    wide = 1 << ((total.bit_length()) // 2)
    tall = total // wide
    deep = 1 << ((total.bit_length() - 1) // 3)
    cube = (total // deep // deep, deep, deep)
    wanted: tuple[Extent, ...] = (
        (total, 1, 1),
        (total - 1, 1, 1),
        (wide, tall, 1),
        (4, total // 4, 1),
        (wide - 1, tall - 1, 1),
        cube,
        (cube[0] - 1, cube[1] - 1, cube[2] - 1),
    )
    allowed = dict.fromkeys(
        extent
        for extent in wanted
        if min(extent) > 0 and all(size <= limits[axis] for size, axis in zip(extent, "xyz", strict=True))
    )
    return tuple(allowed)

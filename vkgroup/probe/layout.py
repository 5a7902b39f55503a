"""Layout of a workgroup's invocations in subgroups and lanes, and the order that it follows.

The observations come from ``shaders/probe/layout.comp``; `vkgroup.probe.size` uses them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Json, Observation, listed

Words = NDArray[np.uint32]
Extent = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class RecordedLayout:
    """Subgroup and lane that each invocation of one workgroup recorded.

    All arrays have shape (invocations,), dtype uint32, in the order of ``gl_LocalInvocationIndex``.
    """

    extent: Extent  # the workgroup's size in x, y and z
    #: `subgroup_size`, `subgroup_id`, `lane`, `num_subgroups`: the built-in variables.
    subgroup_size: Words
    subgroup_id: Words
    lane: Words
    num_subgroups: Words
    ballot_bits: Words | None = None  # bits set in ``subgroupBallot(true)``; None on a device without ballot
    #: Local index of the first active invocation of the same subgroup; None without ballot.
    leader: Words | None = None

    @staticmethod
    def from_words(extent: Extent, words: Words, ballot: bool) -> RecordedLayout:
        """Return the layout from binding 0 of ``layout.comp``, with shape (invocations, 8)."""
        return RecordedLayout(
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


def contradictions(layout: RecordedLayout) -> tuple[str, ...]:
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


def extents(size: int, limits: dict[str, int]) -> tuple[Extent, ...]:
    """Return workgroup sizes of one, two and three dimensions, some of them multiples of the subgroup size.

    `size`: subgroup size, 1 to 128.
    `limits`: maximum workgroup of the device, with the keys "invocations", "x", "y" and "z".

    Returns extents within the limits. Those with odd sizes are not multiples of any subgroup size above 1.
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


Indices = NDArray[np.int64]


def _row_major(extent: Extent) -> Indices:
    x, y, z = _coordinates(extent)
    return x + extent[0] * (y + extent[1] * z)


def _column_major(extent: Extent) -> Indices:
    x, y, z = _coordinates(extent)
    return y + extent[1] * (x + extent[0] * z)


def _quads(extent: Extent) -> Indices:
    x, y, z = _coordinates(extent)
    quad = x // 2 + (extent[0] // 2) * (y // 2 + (extent[1] // 2) * z)
    return 4 * quad + x % 2 + 2 * (y % 2)


def _morton(extent: Extent) -> Indices:
    coordinates = _coordinates(extent)
    code = np.zeros_like(coordinates[0])
    position = 0
    for bit in range(max(extent).bit_length()):
        for axis, size in enumerate(extent):
            if 1 << bit < size:
                code += (coordinates[axis] >> bit & 1) << position
                position += 1
    return code


def _coordinates(extent: Extent) -> tuple[Indices, Indices, Indices]:
    """Return the coordinates of all invocations in the order of ``gl_LocalInvocationIndex`` (x fastest)."""
    z, y, x = np.unravel_index(np.arange(np.prod(extent)), extent[::-1])
    return x.astype(np.int64), y.astype(np.int64), z.astype(np.int64)


ORDERS: dict[str, Callable[[Extent], Indices]] = {
    "linear": _row_major,
    "column_major": _column_major,
    "quads": _quads,
    "morton": _morton,
}
"""Orders of the invocations of a box: functions that return each invocation's position, by linear index."""

_IN_WORDS = {
    "linear": "linear in gl_LocalInvocationIndex",
    "column_major": "linear with y fastest",
    "quads": "in quads of 2x2, quad after quad",
    "morton": "in Morton order",
    "linear_unordered": "linear within each subgroup, with subgroups numbered in another order",
    "other": "in another order",
}


@dataclass(frozen=True)
class WorkgroupMapping:
    """Mapping of one workgroup's invocations to subgroups and lanes."""

    extent: Extent  # the workgroup's size in x, y and z
    #: A key of `ORDERS` if the whole workgroup follows that order and is divided into consecutive subgroups;
    #: "linear_unordered" if only the subgroups' numbers differ from linear; "tiles" if each subgroup with the
    #: most invocations covers a box of the same shape; else "other".
    kind: str
    tile: Extent | None  # that box, for "tiles"
    lane_order: str | None  # the order of lanes in it: a key of `ORDERS` or "other", for "tiles"
    contradictions: tuple[str, ...]  # contradictions between built-in variables; empty on a correct device
    #: (subgroup, lane) of each invocation in the order of ``gl_LocalInvocationIndex``; the subgroup is
    #: `RecordedLayout.subgroup`.
    places: tuple[tuple[int, int], ...]

    @property
    def in_words(self) -> str:
        """Short description of the mapping for people."""
        if self.kind != "tiles" or self.tile is None or self.lane_order is None:
            return _IN_WORDS[self.kind]
        order = {"linear": "linear with x fastest", "other": "in another order"}.get(
            self.lane_order, _IN_WORDS[self.lane_order]
        )
        return f"in tiles of {text_of(self.tile, dimensions(self.extent))} per subgroup, lanes {order}"

    def to_json(self) -> dict[str, Json]:
        """Return the kind, and all subgroups and lanes if the mapping is not linear."""
        data: dict[str, Json] = {"extent": list(self.extent), "kind": self.kind}
        if self.tile is not None:
            data |= {"tile": list(self.tile), "lane_order": self.lane_order}
        if self.contradictions:
            data["contradictions"] = list(self.contradictions)
        if self.kind != "linear":
            data["places"] = [list(place) for place in self.places]
        return data


@dataclass(frozen=True)
class InvocationMapping(Observation):
    """The mappings of several workgroups."""

    workgroups: tuple[WorkgroupMapping, ...]

    @property
    def linear(self) -> bool:
        """Whether every workgroup is linear in ``gl_LocalInvocationIndex``."""
        return all(mapping.kind == "linear" for mapping in self.workgroups)

    def lines(self) -> list[str]:
        """Return lines on each kind of mapping, and on contradictions."""
        groups: dict[str, list[Extent]] = {}
        for mapping in self.workgroups:
            groups.setdefault(mapping.in_words, []).append(mapping.extent)
        lines = [f"{words} {_in_dimensions(extents)}" for words, extents in groups.items()]
        broken: dict[str, list[str]] = {}
        for mapping in self.workgroups:
            for text in mapping.contradictions:
                broken.setdefault(text, []).append(text_of(mapping.extent))
        return lines + [f"contradiction ({', '.join(extents)}): {text}" for text, extents in broken.items()]

    def to_json(self) -> dict[str, Json]:
        """Return each workgroup's mapping as JSON."""
        return {"linear": self.linear, "workgroups": [mapping.to_json() for mapping in self.workgroups]}


def _in_dimensions(extents: list[Extent]) -> str:
    tried = listed([f"{n}-D" for n in sorted({dimensions(extent) for extent in extents})])
    return f"in {tried} ({', '.join(text_of(extent) for extent in extents)})"


def invocation_mapping(layouts: Sequence[RecordedLayout]) -> InvocationMapping:
    """Return the mappings of several workgroups."""
    return InvocationMapping(tuple(classify(layout) for layout in layouts))


def classify(layout: RecordedLayout) -> WorkgroupMapping:
    """Return the mapping of one workgroup to subgroups and lanes."""
    tile = lane_order = None
    kind = _whole_order(layout)
    if kind is None:
        tile, lane_order = _tiles(layout)
        kind = "tiles" if tile is not None else "other"
    return WorkgroupMapping(
        extent=layout.extent,
        kind=kind,
        tile=tile,
        lane_order=lane_order,
        contradictions=contradictions(layout),
        places=tuple(zip(layout.subgroup.tolist(), layout.lane.tolist(), strict=True)),
    )


def _whole_order(layout: RecordedLayout) -> str | None:
    """Return the name of the whole workgroup's order if it is a known one, else None."""
    size = int(layout.subgroup_size.max())
    position = layout.subgroup.astype(np.int64) * size + layout.lane
    for name, order in ORDERS.items():
        if np.array_equal(position, order(layout.extent)):
            return name
    index = np.arange(layout.invocations)
    chunk = index // size
    one_each = len(np.unique(np.stack([chunk, layout.subgroup]), axis=1)[0]) == chunk[-1] + 1
    ids = len(np.unique(layout.subgroup)) == chunk[-1] + 1
    if one_each and ids and np.array_equal(layout.lane, index % size):
        return "linear_unordered"
    return None


def _tiles(layout: RecordedLayout) -> tuple[Extent | None, str | None]:
    """Return the shape of box that all subgroups with the most invocations cover, and its order of lanes."""
    coordinates = np.stack(_coordinates(layout.extent), axis=1)
    fullest = max(layout.populations)
    tile: Extent | None = None
    orders = set(ORDERS)
    for subgroup in np.unique(layout.subgroup):
        members = layout.subgroup == subgroup
        if members.sum() != fullest:
            continue
        offset = coordinates[members] - coordinates[members].min(axis=0)
        box: Extent = tuple(int(side) + 1 for side in offset.max(axis=0))  # type: ignore[assignment]
        if int(np.prod(box)) != fullest or tile not in (None, box):
            return None, None
        tile = box
        # Members are in the order of the local index, which is also the linear order within the tile.
        orders &= {name for name in orders if np.array_equal(layout.lane[members], ORDERS[name](box))}
    return tile, next((name for name in ORDERS if name in orders), "other")

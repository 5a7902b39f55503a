"""Values read from inactive lanes: observed, never judged, because they are undefined."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Json, listed

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Reading:
    """One operation through which a lane can read another's value.

    Attributes
    ----------
    name : the GLSL function.
    category : the category of subgroup operations that has it.
    source : for lanes (uint32) the lanes that they read.
    """

    name: str
    category: str
    source: Callable[[Words], Words]


def _lane_one(lane: Words) -> Words:
    return np.full_like(lane, 1)


READINGS = (
    Reading("subgroupShuffle", "shuffle", lambda lane: lane ^ np.uint32(1)),
    Reading("subgroupShuffleXor", "shuffle", lambda lane: lane ^ np.uint32(1)),
    Reading("subgroupShuffleUp", "shuffle_relative", lambda lane: lane - np.uint32(1)),
    Reading("subgroupShuffleDown", "shuffle_relative", lambda lane: lane + np.uint32(1)),
    Reading("subgroupBroadcast", "ballot", _lane_one),
    Reading("subgroupQuadBroadcast", "quad", lambda lane: (lane & ~np.uint32(3)) + np.uint32(1)),
    Reading("subgroupQuadSwapHorizontal", "quad", lambda lane: lane ^ np.uint32(1)),
)
"""The operations of ``shaders/probe/inactive.comp``, in its order."""

LABELS = {
    "held": "what the inactive lane last held",
    "computed": "what the inactive lane would hold, were it active",
    "own": "the reading lane's own value",
    "first": "the first active lane's value",
    "zero": "zero",
    "other": "another value",
}
"""What may be read, in the order in which the analysis tries it."""


@dataclass(frozen=True)
class Read:
    """What one operation gave to the lanes that read from inactive ones.

    Attributes
    ----------
    operation : the GLSL function.
    inside : whether the value was set inside the branch, where the inactive lanes are absent; else before it.
    lanes : for each key of `LABELS` that occurred, the number of lanes that got it.
    """

    operation: str
    inside: bool
    lanes: dict[str, int]

    @property
    def in_words(self) -> str:
        """What was read, in words."""
        if len(self.lanes) == 1:
            return LABELS[next(iter(self.lanes))]
        return listed([f"{LABELS[label]} in {count} lanes" for label, count in self.lanes.items()])

    def to_json(self) -> dict[str, Json]:
        """Give what was read."""
        return {
            "operation": self.operation,
            "value_set": "inside the branch" if self.inside else "before the branch",
            "lanes": dict(self.lanes),
        }


@dataclass(frozen=True)
class InactiveLanes:
    """What every supported reading operation gave; `missing` names the categories the device lacks."""

    reads: tuple[Read, ...]
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say what reading from an inactive lane gave, alike operations together."""
        lines = []
        for inside, heading in ((False, "a value set before the branch"), (True, "a value set inside it")):
            groups: dict[str, list[str]] = {}
            for read in self.reads:
                if read.inside == inside:
                    groups.setdefault(read.in_words, []).append(read.operation)
            for words, operations in groups.items():
                by = "" if len(groups) == 1 else f" by {', '.join(operations)}"
                lines.append(f"{heading}: {words}{by}")
        return lines + ([f"not tried, missing: {', '.join(self.missing)}"] if self.missing else [])

    def to_json(self) -> dict[str, Json]:
        """Give every read, and the categories that are missing."""
        return {"reads": [read.to_json() for read in self.reads], "missing": list(self.missing)}


def start_values(size: int) -> Words:
    """Choose what each lane holds before the branch: no two alike, none zero, none the image of another."""
    lane = np.arange(size, dtype=np.uint32)
    return np.where(lane % 2 == 0, 0x1000 + lane, 0x5A000000 + lane * 0x101).astype(np.uint32)


def inside_values(start: Words) -> Words:
    """Give the value that a lane sets inside the branch, as ``inactive.comp`` computes it."""
    return start * np.uint32(3) + np.uint32(7)


def taken_lanes(size: int) -> Words:
    """Give 1 for lanes that take the branch (the even ones), 0 for the others."""
    return (np.arange(size, dtype=np.uint32) + 1) % 2


def inactive_lanes(got: Words, categories: Collection[str], missing: tuple[str, ...] = ()) -> InactiveLanes:
    """Classify what lanes read from inactive ones.

    Parameters
    ----------
    got : (operations of `READINGS`, 2, size) uint32: what each lane read, of the value set before the branch
        and of the one set inside it.
    categories : the categories of operations that the device has; the rows of others are ignored.
    missing : what to report as missing, by Vulkan's names.
    """
    size = got.shape[2]
    start = start_values(size)
    lane = np.arange(size, dtype=np.uint32)
    reads = []
    for row, reading in enumerate(READINGS):
        if reading.category not in categories:
            continue
        source = reading.source(lane)
        reading_lanes = (taken_lanes(size) == 1) & (source < size)
        reading_lanes &= taken_lanes(size)[np.minimum(source, size - 1)] == 0
        lanes, sources = lane[reading_lanes], source[reading_lanes]
        for inside in (False, True):
            current = inside_values(start) if inside else start
            values = got[row, int(inside), lanes]
            lanes_by_label = _count(values, start, current, lanes, sources, inside)
            reads.append(Read(reading.name, inside, lanes_by_label))
    return InactiveLanes(tuple(reads), missing)


def _count(
    values: Words, start: Words, current: Words, lanes: Words, sources: Words, inside: bool
) -> dict[str, int]:
    expected = {
        "held": start[sources],
        "computed": current[sources] if inside else None,
        "own": current[lanes],
        "first": np.full_like(values, current[0]),
        "zero": np.zeros_like(values),
    }
    counts: dict[str, int] = {}
    left = np.ones(len(values), dtype=bool)
    for label, candidate in expected.items():
        if candidate is None:
            continue
        # A reader that is the first active lane itself cannot tell "own" from "first": it counts as own,
        # unless every other reader got the first lane's value too.
        if label == "own" and len(values) > 1 and (values == current[0]).all():
            continue
        hit = left & (values == candidate)
        if hit.any():
            counts[label] = int(hit.sum())
        left &= ~hit
    if left.any():
        counts["other"] = int(left.sum())
    return counts

"""Divergent branches: values read from inactive lanes, and reconvergence after a branch.

Values of inactive lanes are reported without a verdict, because they are undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Json, Observation, listed

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Reading:
    """One operation with which a lane can read another lane's value."""

    name: str  # the GLSL function
    category: str  # its category of subgroup operations
    source: Callable[[Words], Words]  # function from lanes (uint32) to the lanes that they read


READINGS = (
    Reading("subgroupShuffle", "shuffle", lambda lane: lane ^ np.uint32(1)),
    Reading("subgroupShuffleXor", "shuffle", lambda lane: lane ^ np.uint32(1)),
    Reading("subgroupShuffleUp", "shuffle_relative", lambda lane: lane - np.uint32(1)),
    Reading("subgroupShuffleDown", "shuffle_relative", lambda lane: lane + np.uint32(1)),
    Reading("subgroupBroadcast", "ballot", np.ones_like),
    Reading("subgroupQuadBroadcast", "quad", lambda lane: (lane & ~np.uint32(3)) + np.uint32(1)),
    Reading("subgroupQuadSwapHorizontal", "quad", lambda lane: lane ^ np.uint32(1)),
)
"""Operations of ``shaders/probe/inactive.comp``, in its order."""

LABELS = {
    "held": "the last value of the inactive lane",
    "computed": "the value that the inactive lane would have if it were active",
    "own": "the reading lane's own value",
    "first": "the first active lane's value",
    "zero": "zero",
    "other": "another value",
}
"""Labels of possible values, in the order in which the analysis tries them."""


@dataclass(frozen=True)
class InactiveReads:
    """Values that lanes read from inactive lanes with one operation."""

    operation: str  # the GLSL function
    #: Whether the value was set inside the branch, which inactive lanes do not take; else before it.
    inside: bool
    #: Number of lanes by label, for each key of `LABELS` that occurred. Empty if the operation reads no
    #: inactive lane, as in a subgroup of one lane.
    lanes: dict[str, int]

    @property
    def in_words(self) -> str:
        """Description of the values for people."""
        if len(self.lanes) == 1:
            return LABELS[next(iter(self.lanes))]
        counts = {label: "1 lane" if n == 1 else f"{n} lanes" for label, n in self.lanes.items()}
        return listed([f"{LABELS[label]} in {lanes}" for label, lanes in counts.items()])

    def to_json(self) -> dict[str, Json]:
        """Return the attributes as JSON."""
        return {
            "operation": self.operation,
            "value_set": "inside the branch" if self.inside else "before the branch",
            "lanes": dict(self.lanes),
        }


@dataclass(frozen=True)
class InactiveLanes(Observation):
    """Results of all supported operations; `missing` lists the categories that the device lacks."""

    reads: tuple[InactiveReads, ...]
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return lines on the values read from inactive lanes; operations with equal results are combined."""
        lines = []
        if self.reads and not any(read.lanes for read in self.reads):
            lines.append("no result: subgroups are too small to read from an inactive lane")
        for inside, heading in ((False, "a value set before the branch"), (True, "a value set inside it")):
            groups: dict[str, list[str]] = {}
            for read in self.reads:
                if read.inside == inside and read.lanes:
                    groups.setdefault(read.in_words, []).append(read.operation)
            for words, operations in groups.items():
                by = "" if len(groups) == 1 else f" by {', '.join(operations)}"
                lines.append(f"{heading}: {words}{by}")
        return lines + ([f"not tried, missing: {', '.join(self.missing)}"] if self.missing else [])

    def to_json(self) -> dict[str, Json]:
        """Return all reads and the missing categories as JSON."""
        return {"reads": [read.to_json() for read in self.reads], "missing": list(self.missing)}


def start_values(size: int) -> Words:
    """Return the values of the lanes before the branch: distinct, not zero, not in `inside_values`."""
    lane = np.arange(size, dtype=np.uint32)
    return np.where(lane % 2 == 0, 0x1000 + lane, 0x5A000000 + lane * 0x101).astype(np.uint32)


def inside_values(start: Words) -> Words:
    """Return the value that each lane sets inside the branch, as ``inactive.comp`` computes it."""
    return start * np.uint32(3) + np.uint32(7)


def taken_lanes(size: int) -> Words:
    """Return 1 for lanes that take the branch (even lanes), 0 for others."""
    return (np.arange(size, dtype=np.uint32) + 1) % 2


def inactive_lanes(got: Words, categories: Collection[str], missing: tuple[str, ...] = ()) -> InactiveLanes:
    """Classify the values that lanes read from inactive lanes.

    `got`: (operations of `READINGS`, 2, size) uint32: the value that each lane read, of the variable set
    before the branch and of the variable set inside it.
    `categories`: the categories of operations that the device supports; rows of others are ignored.
    `missing`: categories to report as missing, by Vulkan's names.
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
            reads.append(InactiveReads(reading.name, inside, lanes_by_label))
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
        # For the first active lane, "own" and "first" are the same value. It counts as "own", unless all
        # other reading lanes also have the first lane's value.
        if label == "own" and len(values) > 1 and (values == current[0]).all():
            continue
        hit = left & (values == candidate)
        if hit.any():
            counts[label] = int(hit.sum())
        left &= ~hit
    if left.any():
        counts["other"] = int(left.sum())
    return counts


CONSTRUCTS = (
    "if",
    "if/else",
    "nested branches",
    "the inner of two branches",
    "a loop with different trips",
    "a loop left by break",
    "a trip ended by continue",
    "switch",
    "a case that falls through",
    "a function left early",
)
"""Constructs of ``shaders/probe/reconvergence.comp``, in its order."""


@dataclass(frozen=True)
class ConstructObservation:
    """Observation of one construct."""

    construct: str  # one of `CONSTRUCTS`
    #: Whether invocations diverged: some mask inside the construct differs from that before it.
    parted_inside: bool
    #: Maximum number of different masks after the construct among invocations with the same mask before it; 1
    #: if all of them are together again.
    parts_after: int
    together_after: bool  # whether every invocation's mask after the construct equals its mask before


@dataclass(frozen=True)
class Reconvergence(Observation):
    """Observations of all constructs."""

    constructs: tuple[ConstructObservation, ...]

    @property
    def always(self) -> bool:
        """Whether invocations were together after every construct."""
        return all(construct.together_after for construct in self.constructs)

    def lines(self) -> list[str]:
        """Return lines that list the constructs with and without reconvergence."""
        if not any(construct.parted_inside for construct in self.constructs):
            return ["no result: no branch separated the invocations of a subgroup"]
        together = [construct.construct for construct in self.constructs if construct.together_after]
        whole = [construct.construct for construct in self.constructs if not construct.parted_inside]
        apart = [
            f"{construct.construct} (in {construct.parts_after} parts)"
            if construct.parts_after > 1
            else f"{construct.construct} (all with a different mask than before)"
            for construct in self.constructs
            if not construct.together_after
        ]
        lines = [f"apart after {listed(apart)}"] if apart else []
        lines += [f"together again after {listed(together)}"] if together else []
        return lines + ([f"never separated in {listed(whole)}"] if whole else [])

    def to_json(self) -> dict[str, Json]:
        """Return all observations as JSON."""
        return {"always_together": self.always, **super().to_json()}


def keys(invocations: int, seed: int = 1) -> Words:
    """Return numbers that select the branches of invocations, sequential and random: (2, invocations)."""
    drawn = np.random.default_rng(seed).integers(0, 8, invocations)
    return np.stack([np.arange(invocations), drawn]).astype(np.uint32)


def reconvergence(masks: Words) -> Reconvergence:
    """Classify the ballots recorded before, inside and after each construct.

    `masks`: (sets of keys, constructs, 3, invocations, 4) uint32: ballots before, inside and after; zero for
    invocations that did not execute the ballot.
    """
    return Reconvergence(tuple(_construct(name, masks[:, index]) for index, name in enumerate(CONSTRUCTS)))


def undeclared(masks: Words) -> dict[str, tuple[int, int]]:
    """Return for each construct in how many records the mask after it is that before it, and of how many.

    `masks`: as for `reconvergence`. Records of subgroups that a construct did not separate do not count.
    """
    counts = {}
    for number, name in enumerate(CONSTRUCTS):
        before, inside, after = (masks[:, number, moment] for moment in range(3))
        passed = before.any(axis=2)
        parted = (passed & inside.any(axis=2) & (inside != before).any(axis=2)).any(axis=1, keepdims=True)
        passed &= parted
        together = passed & (after == before).all(axis=2)
        counts[name] = (int(together.sum()), int(passed.sum()))
    return counts


def _construct(name: str, masks: Words) -> ConstructObservation:
    parted, parts, together = False, 1, True
    for before, inside, after in masks:
        passed = before.any(axis=1)
        entered = passed & inside.any(axis=1)
        parted |= bool((inside[entered] != before[entered]).any())
        together &= bool((after[passed] == before[passed]).all())
        for mask in np.unique(before[passed], axis=0):
            group = passed & (before == mask).all(axis=1)
            parts = max(parts, len(np.unique(after[group], axis=0)))
    return ConstructObservation(name, parted, parts, together)

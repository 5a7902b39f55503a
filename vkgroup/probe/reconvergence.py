"""Reconvergence of invocations after a divergent branch."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Json, Observation, listed

Words = NDArray[np.uint32]

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
class Construct:
    """Observation of one construct.

    Attributes
    ----------
    construct : one of `CONSTRUCTS`.
    parted_inside : whether invocations diverged: some mask inside the construct differs from that before it.
    parts_after : maximum number of different masks after the construct among invocations with the same mask
        before it; 1 if all of them are together again.
    together_after : whether every invocation's mask after the construct equals its mask before.
    """

    construct: str
    parted_inside: bool
    parts_after: int
    together_after: bool


@dataclass(frozen=True)
class Reconvergence(Observation):
    """Observations of all constructs."""

    constructs: tuple[Construct, ...]

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
        return {
            "always_together": self.always,
            "constructs": [msgspec.to_builtins(construct) for construct in self.constructs],
        }


def keys(invocations: int, seed: int = 1) -> Words:
    """Return two sets of numbers that select each invocation's branches: sequential and random.

    Returns
    -------
    (2, invocations) uint32
    """
    drawn = np.random.default_rng(seed).integers(0, 8, invocations)
    return np.stack([np.arange(invocations), drawn]).astype(np.uint32)


def reconvergence(masks: Words) -> Reconvergence:
    """Classify the ballots recorded before, inside and after each construct.

    Parameters
    ----------
    masks : (sets of keys, constructs, 3, invocations, 4) uint32: ballots before, inside and after; zero for
        invocations that did not execute the ballot.
    """
    return Reconvergence(tuple(_construct(name, masks[:, index]) for index, name in enumerate(CONSTRUCTS)))


def _construct(name: str, masks: Words) -> Construct:
    parted, parts, together = False, 1, True
    for before, inside, after in masks:
        passed = before.any(axis=1)
        entered = passed & inside.any(axis=1)
        parted |= bool((inside[entered] != before[entered]).any())
        together &= bool((after[passed] == before[passed]).all())
        for mask in np.unique(before[passed], axis=0):
            group = passed & (before == mask).all(axis=1)
            parts = max(parts, len(np.unique(after[group], axis=0)))
    return Construct(name, parted, parts, together)

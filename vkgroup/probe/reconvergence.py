"""Reconvergence of invocations after a divergent branch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Json, listed

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
"""The constructs of ``shaders/probe/reconvergence.comp``, in its order."""


@dataclass(frozen=True)
class Construct:
    """What happened around one construct.

    Attributes
    ----------
    name : one of `CONSTRUCTS`.
    parted : whether some invocation saw another mask inside than before, as the construct should bring about.
    parts : the most different masks after the construct among invocations that were together before it; 1
        where all of them are together again.
    together : whether every invocation's mask after the construct is its mask before.
    """

    name: str
    parted: bool
    parts: int
    together: bool

    def to_json(self) -> dict[str, Json]:
        """Give what happened."""
        return {
            "construct": self.name,
            "parted_inside": self.parted,
            "parts_after": self.parts,
            "together_after": self.together,
        }


@dataclass(frozen=True)
class Reconvergence:
    """What happened around each construct."""

    constructs: tuple[Construct, ...]

    @property
    def always(self) -> bool:
        """Whether invocations were together after every construct."""
        return all(construct.together for construct in self.constructs)

    def lines(self) -> list[str]:
        """Say after which constructs invocations are together again."""
        if not any(construct.parted for construct in self.constructs):
            return ["nothing to see: no branch parted the invocations of a subgroup"]
        kept = [construct.name for construct in self.constructs if construct.together]
        whole = [construct.name for construct in self.constructs if not construct.parted]
        apart = [
            f"{construct.name} (in {construct.parts} parts)"
            if construct.parts > 1
            else f"{construct.name} (all with another mask than before)"
            for construct in self.constructs
            if not construct.together
        ]
        lines = [f"apart after {listed(apart)}"] if apart else []
        lines += [f"together again after {listed(kept)}"] if kept else []
        return lines + ([f"never parted in {listed(whole)}"] if whole else [])

    def to_json(self) -> dict[str, Json]:
        """Give each construct's observation."""
        return {
            "always_together": self.always,
            "constructs": [construct.to_json() for construct in self.constructs],
        }


def keys(invocations: int, seed: int = 1) -> Words:
    """Choose two sets of the numbers that decide each invocation's way: in sequence, and at random.

    Returns
    -------
    (2, invocations) uint32
    """
    drawn = np.random.default_rng(seed).integers(0, 8, invocations)
    return np.stack([np.arange(invocations), drawn]).astype(np.uint32)


def reconvergence(masks: Words) -> Reconvergence:
    """Classify what the invocations saw around each construct.

    Parameters
    ----------
    masks : (sets of keys, constructs, 3, invocations, 4) uint32: ballots before, inside, after; zero where an
        invocation did not pass.
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
            comrades = passed & (before == mask).all(axis=1)
            parts = max(parts, len(np.unique(after[comrades], axis=0)))
    return Construct(name, parted, parts, together)

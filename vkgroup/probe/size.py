"""The subgroup size that is actually met, by itself and when one is required."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.probe.layout import Layout
from vkgroup.probe.outcome import Json, listed


@dataclass(frozen=True)
class MetSize:
    """Sizes met in workgroups that could hold at least one full subgroup.

    Attributes
    ----------
    built_in : the values that ``gl_SubgroupSize`` had, ascending.
    populated : the most invocations that were in one subgroup.
    ballot_bits : the most bits that ``subgroupBallot(true)`` had; None without ballot.
    """

    built_in: tuple[int, ...]
    populated: int
    ballot_bits: int | None

    def is_exactly(self, size: int) -> bool:
        """Say whether everything seen is one size."""
        return self.built_in == (size,) and self.populated == size and self.ballot_bits in (None, size)

    def in_words(self) -> str:
        """Say the sizes in words."""
        words = [f"gl_SubgroupSize is {listed([str(size) for size in self.built_in])}"]
        words.append(f"at most {self.populated} invocations are in a subgroup")
        if self.ballot_bits is not None:
            words.append(f"ballots have at most {self.ballot_bits} bits")
        return ", ".join(words)

    def to_json(self) -> dict[str, Json]:
        """Give the sizes as JSON."""
        return {
            "built_in": list(self.built_in),
            "populated": self.populated,
            "ballot_bits": self.ballot_bits,
        }


@dataclass(frozen=True)
class SubgroupSize:
    """The subgroup size as declared, as met, and as met for each size that can be required.

    Attributes
    ----------
    declared : ``VkPhysicalDeviceSubgroupProperties::subgroupSize``.
    met : what is met when no size is required.
    required : for each size required of a pipeline, what is met; empty where none can be required.
    """

    declared: int
    met: MetSize
    required: Mapping[int, MetSize]

    def lines(self) -> list[str]:
        """Say whether what is met is what is declared."""
        if self.met.is_exactly(self.declared):
            lines = [f"{self.declared}, as declared"]
        else:
            lines = [f"{self.declared} is declared, but {self.met.in_words()}"]
        kept = [str(size) for size, met in self.required.items() if met.is_exactly(size)]
        if kept:
            lines.append(f"exactly {listed(kept)} when required")
        for size, met in self.required.items():
            if not met.is_exactly(size):
                lines.append(f"when {size} is required, {met.in_words()}")
        return lines

    def to_json(self) -> dict[str, Json]:
        """Give what is declared and what is met."""
        return {
            "declared": self.declared,
            "met": self.met.to_json(),
            "required": {str(size): met.to_json() for size, met in self.required.items()},
        }


def met_size(layouts: Sequence[Layout]) -> MetSize:
    """Find the sizes that a set of workgroups shows."""
    built_in = np.unique(np.concatenate([layout.subgroup_size for layout in layouts]))
    ballots = [int(layout.ballot_bits.max()) for layout in layouts if layout.ballot_bits is not None]
    return MetSize(
        built_in=tuple(int(size) for size in built_in),
        populated=max(max(layout.populations) for layout in layouts),
        ballot_bits=max(ballots) if ballots else None,
    )

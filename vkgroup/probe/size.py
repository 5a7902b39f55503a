"""Observed subgroup size, without and with a required subgroup size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.probe.layout import Layout
from vkgroup.probe.outcome import Json, listed


@dataclass(frozen=True)
class MetSize:
    """Sizes observed in workgroups that have enough invocations for a full subgroup.

    Attributes
    ----------
    built_in : the values of ``gl_SubgroupSize``, ascending.
    populated : maximum number of invocations in one subgroup.
    ballot_bits : maximum number of bits in ``subgroupBallot(true)``; None without ballot.
    """

    built_in: tuple[int, ...]
    populated: int
    ballot_bits: int | None

    def is_exactly(self, size: int) -> bool:
        """Return whether all observations equal one size."""
        return self.built_in == (size,) and self.populated == size and self.ballot_bits in (None, size)

    def in_words(self) -> str:
        """Return a description of the sizes for people."""
        words = [f"gl_SubgroupSize is {listed([str(size) for size in self.built_in])}"]
        words.append(f"at most {self.populated} invocations are in a subgroup")
        if self.ballot_bits is not None:
            words.append(f"ballots have at most {self.ballot_bits} bits")
        return ", ".join(words)

    def to_json(self) -> dict[str, Json]:
        """Return the sizes as JSON."""
        return {
            "built_in": list(self.built_in),
            "populated": self.populated,
            "ballot_bits": self.ballot_bits,
        }


@dataclass(frozen=True)
class SubgroupSize:
    """Subgroup size: declared, observed, and observed for each size that can be required.

    Attributes
    ----------
    declared : ``VkPhysicalDeviceSubgroupProperties::subgroupSize``.
    met : sizes observed when no size is required.
    required : observed sizes by required size; empty if no size can be required.
    """

    declared: int
    met: MetSize
    required: Mapping[int, MetSize]

    def lines(self) -> list[str]:
        """Return lines that compare the observed sizes with the declared and required ones."""
        if self.met.is_exactly(self.declared):
            lines = [f"{self.declared}, as declared"]
        else:
            lines = [f"{self.declared} is declared, but {self.met.in_words()}"]
        exact = [str(size) for size, met in self.required.items() if met.is_exactly(size)]
        if exact:
            lines.append(f"exactly {listed(exact)} when required")
        for size, met in self.required.items():
            if not met.is_exactly(size):
                lines.append(f"when {size} is required, {met.in_words()}")
        return lines

    def to_json(self) -> dict[str, Json]:
        """Return the declared and the observed sizes as JSON."""
        return {
            "declared": self.declared,
            "met": self.met.to_json(),
            "required": {str(size): met.to_json() for size, met in self.required.items()},
        }


def met_size(layouts: Sequence[Layout]) -> MetSize:
    """Return the sizes observed in a set of workgroups."""
    built_in = np.unique(np.concatenate([layout.subgroup_size for layout in layouts]))
    ballots = [int(layout.ballot_bits.max()) for layout in layouts if layout.ballot_bits is not None]
    return MetSize(
        built_in=tuple(int(size) for size in built_in),
        populated=max(max(layout.populations) for layout in layouts),
        ballot_bits=max(ballots) if ballots else None,
    )

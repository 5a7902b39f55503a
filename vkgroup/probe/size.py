"""Observed subgroup size, without and with a required size, and full subgroups.

A subgroup is full if it has as many invocations as the subgroup size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.base.errors import NoDevice
from vkgroup.probe.layout import Extent, RecordedLayout, text_of
from vkgroup.probe.outcome import Json, Observation, fields_of, listed


@dataclass(frozen=True)
class MetSize:
    """Sizes observed in workgroups that have enough invocations for a full subgroup."""

    built_in: tuple[int, ...]  # the values of ``gl_SubgroupSize``, ascending
    populated: int  # maximum number of invocations in one subgroup
    ballot_bits: int | None  # maximum number of bits in ``subgroupBallot(true)``; None without ballot

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


@dataclass(frozen=True)
class SubgroupSize(Observation):
    """Subgroup size: declared, observed, and observed for each size that can be required."""

    declared: int  # ``VkPhysicalDeviceSubgroupProperties::subgroupSize``
    met: MetSize  # sizes observed when no size is required
    required: Mapping[int, MetSize]  # observed sizes by required size; empty if no size can be required

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


def met_size(layouts: Sequence[RecordedLayout]) -> MetSize:
    """Return the sizes observed in a set of workgroups; raise NoDevice as `full_subgroups`."""
    _require_executed(layouts)
    built_in = np.unique(np.concatenate([layout.subgroup_size for layout in layouts]))
    ballots = [int(layout.ballot_bits.max()) for layout in layouts if layout.ballot_bits is not None]
    return MetSize(
        built_in=tuple(int(size) for size in built_in),
        populated=max(max(layout.populations) for layout in layouts),
        ballot_bits=max(ballots) if ballots else None,
    )


@dataclass(frozen=True)
class Filling:
    """Number of invocations in each subgroup of one workgroup."""

    extent: Extent  # the workgroup's size in x, y and z
    subgroup_size: int  # the greatest ``gl_SubgroupSize`` in it
    populations: tuple[int, ...]  # invocations of each subgroup, in the order of `RecordedLayout.subgroup`

    @property
    def multiple(self) -> bool:
        """Whether the workgroup is a multiple of the subgroup size."""
        return sum(self.populations) % self.subgroup_size == 0

    @property
    def tight(self) -> bool:
        """Whether every subgroup is full, except the last, which has the remaining invocations."""
        needed = -(-sum(self.populations) // self.subgroup_size)
        return len(self.populations) == needed and {*self.populations[:-1]} <= {self.subgroup_size}

    def to_json(self) -> dict[str, Json]:
        """Return the populations and the properties derived from them."""
        return fields_of(self) | {"multiple_of_subgroup_size": self.multiple, "all_but_last_full": self.tight}


@dataclass(frozen=True)
class FullSubgroups(Observation):
    """Invocations per subgroup in several workgroups."""

    fillings: tuple[Filling, ...]

    @property
    def full_in_multiples(self) -> bool:
        """Whether all subgroups are full in every workgroup that is a multiple of the subgroup size."""
        return all(filling.tight for filling in self.fillings if filling.multiple)

    @property
    def only_last_partial(self) -> bool:
        """Whether in other workgroups only the last subgroup is not full."""
        return all(filling.tight for filling in self.fillings if not filling.multiple)

    def lines(self) -> list[str]:
        """Return lines that describe which subgroups are full."""
        others = [filling for filling in self.fillings if not filling.multiple]
        if self.full_in_multiples:
            lines = ["full in workgroups that are a multiple of the size"]
        else:
            loose = [_text(filling) for filling in self.fillings if filling.multiple and not filling.tight]
            lines = [f"not always full in workgroups that are a multiple of the size: {listed(loose)}"]
        if others and self.only_last_partial:
            lines.append(f"in others, only the last subgroup is not full ({_text(others[0])})")
        elif others:
            loose = [_text(filling) for filling in others if not filling.tight]
            lines.append(f"in others, not only the last subgroup is not full: {listed(loose)}")
        return lines

    def to_json(self) -> dict[str, Json]:
        """Return each workgroup's populations and the two conclusions."""
        return {
            "full_in_multiples": self.full_in_multiples,
            "only_last_partial": self.only_last_partial,
            "workgroups": [filling.to_json() for filling in self.fillings],
        }


def _require_executed(layouts: Sequence[RecordedLayout]) -> None:
    if any(int(layout.subgroup_size.min()) == 0 for layout in layouts):
        raise NoDevice(
            "The device accepts work, but no longer executes it: a shader that writes its subgroup size wrote"
            " none. Restart the driver, or choose another device of `vkgroup devices`."
        )


def full_subgroups(layouts: Sequence[RecordedLayout]) -> FullSubgroups:
    """Return the number of invocations in each subgroup of several workgroups.

    Raises NoDevice: a shader saw subgroups of no invocation, so it was not executed.
    """
    _require_executed(layouts)
    return FullSubgroups(
        tuple(
            Filling(layout.extent, int(layout.subgroup_size.max()), layout.populations) for layout in layouts
        )
    )


def _text(filling: Filling) -> str:
    runs: list[list[int]] = []
    for count in filling.populations:
        if runs and runs[-1][1] == count:
            runs[-1][0] += 1
        else:
            runs.append([1, count])
    shown = " + ".join(f"{times} of {count}" for times, count in runs[:4]) + (" + …" if len(runs) > 4 else "")
    return f"{text_of(filling.extent)}: {shown}"

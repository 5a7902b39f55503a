"""Stress of litmus tests: parameters of one run, and runs drawn from a fixed seed.

The parameters are those of MC Mutants (Levine et al., ASPLOS 2023) and GPUHarbor (Levine et al., ISSTA 2023)
that have a meaning within a subgroup. ``shaders/probe/litmus_stress.glsl`` carries them out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

PATTERNS = ("store-store", "store-load", "load-store", "load-load")
"""Pairs of accesses, in the order of their numbers in ``litmus_stress.glsl``."""

_FIRST_LINE = 64
"""Words of scratch memory before those that are accessed; the first counts workgroups."""

_SEED = 1


@dataclass(frozen=True)
class Stress:
    """Parameters of one run."""

    workgroups: int  # that test
    stride: int  # words from the word of a lane, side or workgroup to the next
    rounds: int = 64
    tries: int = 0  # loads after which a wait is given up; 0 where nothing waits
    #: Workgroups that only access other memory, and how: pairs of accesses of each, and their pattern.
    stressing_workgroups: int = 0
    stress_iterations: int = 0
    stress_pattern: str = PATTERNS[0]
    #: Pairs of accesses to that memory which a testing workgroup makes before each round, and their pattern.
    pre_stress_iterations: int = 0
    pre_stress_pattern: str = PATTERNS[0]
    target_lines: int = 1  # places of that memory which are accessed
    line_size: int = 1  # words from one of them to the next
    chunked: bool = False  # whether neighboring workgroups share a place; else they take turns
    barrier_spins: int = 0  # loads with which workgroups wait for each other before each round, at most
    shuffled: bool = False  # whether workgroups have permuted numbers
    partner_factor: int = 1  # odd; lane i has the partner i × partner_factor + 1 + 2 × round, modulo the size
    seed: int = 0  # of the permutation

    def __str__(self) -> str:
        """Return the parameters that are not at their defaults, for people."""
        values = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        shown = {f.name: values[f.name] for f in fields(self)[:-1] if values[f.name] != f.default}
        return ", ".join(f"{name} {value}".removesuffix(" True") for name, value in shown.items())

    @property
    def all_workgroups(self) -> int:
        """Number of workgroups of the dispatch."""
        return self.workgroups + self.stressing_workgroups

    def bindings(self) -> dict[str, Words]:
        """Return the contents of the blocks of ``litmus_stress.glsl``."""
        numbers = np.arange(self.all_workgroups, dtype=np.uint32)
        share = -(-self.all_workgroups // self.target_lines)
        line = numbers // share if self.chunked else numbers % self.target_lines
        targets = _FIRST_LINE + line * self.line_size
        if self.shuffled:
            numbers = np.random.default_rng(self.seed).permutation(numbers)
        plan = (
            self.workgroups, self.stride, self.rounds, self.tries, self.partner_factor, self.barrier_spins,
            self.pre_stress_iterations, PATTERNS.index(self.pre_stress_pattern),
            self.stress_iterations, PATTERNS.index(self.stress_pattern),
        )  # fmt: skip
        return {
            "Plan": np.array(plan, np.uint32),
            "Groups": np.stack([numbers, targets], axis=1).astype(np.uint32).ravel(),
            "Scratch": np.zeros(_FIRST_LINE + self.target_lines * self.line_size, np.uint32),
        }


def drawn(count: int, tries: int = 0) -> tuple[Stress, ...]:
    """Return runs with parameters drawn from a fixed seed: as in GPUHarbor, the same for all devices."""
    random = np.random.default_rng(_SEED)

    def power(least: int, most: int) -> int:
        return 1 << int(random.integers(least, most + 1))

    def some(value: int) -> int:
        return value if random.integers(2) else 0

    def pattern() -> str:
        return PATTERNS[random.integers(len(PATTERNS))]

    return tuple(
        Stress(
            workgroups=power(2, 8),
            stride=power(0, 5),
            rounds=8,
            tries=tries,
            stressing_workgroups=some(power(2, 7)),
            stress_iterations=power(4, 10),
            stress_pattern=pattern(),
            pre_stress_iterations=some(power(0, 7)),
            pre_stress_pattern=pattern(),
            target_lines=power(0, 4),
            line_size=power(0, 8),
            chunked=bool(random.integers(2)),
            barrier_spins=some(power(4, 10)),
            shuffled=bool(random.integers(2)),
            partner_factor=2 * int(random.integers(16)) + 1,
            seed=number,
        )
        for number in range(count)
    )


_PLAIN = tuple(Stress(workgroups, stride) for workgroups in (1, 64) for stride in (1, 16))
_DRAWN = 48

STRESS = (*_PLAIN, *drawn(_DRAWN))
"""Runs of stores and loads: without stress, then with drawn parameters."""

WAITS = (
    *(replace(run, tries=1_000) for run in _PLAIN),
    Stress(1, 1, rounds=4, tries=50_000),
    *drawn(_DRAWN, tries=1_000),
)
"""Runs of the sides of a branch; a device may change sides only after a while, so one waits long."""

"""Which constants that look like a subgroup size change results: by what the code and the runs show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vkgroup.check.compare import Difference
from vkgroup.check.findings import Configuration
from vkgroup.check.runs import Run
from vkgroup.check.sizes_in_code import Candidate

Differences = Callable[[Run], Mapping[Configuration, Difference | None]]
"""Compares all runs with one of them."""


@dataclass(frozen=True)
class Assumption:
    """Constants that stand for the same subgroup size, which changes results.

    Attributes
    ----------
    size : that size.
    candidates : where the constants are used.
    base : the run at that size, with which others are compared.
    broken : runs where it goes wrong.
    example : a difference to the base, where outputs differ.
    """

    size: int
    candidates: tuple[Candidate, ...]
    base: Run
    broken: tuple[Configuration, ...]
    example: tuple[Configuration, Difference] | None

    def explains(self, configuration: Configuration) -> bool:
        """Whether a run may differ from the base because of it."""
        size = configuration.subgroup_size
        if size in {run.subgroup_size for run in self.broken}:
            return True
        if any(not candidate.fits(size) for candidate in self.candidates):
            return True
        return configuration.shuffled and any(candidate.layout for candidate in self.candidates)


def _troubles(run: Run) -> frozenset[tuple[str, int]]:
    return frozenset((event.kind, event.position) for event in run.events)


def _differs(base: Run, run: Run, differences: Mapping[Configuration, Difference | None]) -> bool:
    """Whether a run gives something else than the base, or has troubles that the base has not."""
    return bool(_troubles(run) - _troubles(base)) or differences[run.configuration] is not None


def find_assumption(
    candidates: Sequence[Candidate],
    runs: Sequence[Run],
    differences_to: Differences,
) -> Assumption | None:
    """Return the assumption that the runs bear out, None where there is none.

    The constants of one size are to blame if, beside the linear run at that size, all those go wrong whose
    size is smaller, or all those whose size is larger, and the constants do not fit these.

    Parameters
    ----------
    candidates : constants found in the code.
    runs : on the reference device.
    differences_to : compares all runs with one of them.
    """
    linear = {run.configuration.subgroup_size: run for run in runs if not run.configuration.shuffled}
    found: list[Assumption] = []
    for size in sorted({candidate.size for candidate in candidates} & linear.keys()):
        base = linear[size]
        differences = differences_to(base)
        guilty = []
        broken: dict[Configuration, None] = {}
        for candidate in (entry for entry in candidates if entry.size == size):
            sides = [
                [run for other, run in linear.items() if other < size],
                [run for other, run in linear.items() if other > size],
            ]
            wrong = [side for side in sides if side and all(_differs(base, run, differences) for run in side)]
            if any(not candidate.fits(run.configuration.subgroup_size) for side in wrong for run in side):
                guilty.append(candidate)
                broken.update(dict.fromkeys(run.configuration for side in wrong for run in side))
        if guilty:
            example = next(
                ((where, known) for where in broken if (known := differences[where]) is not None), None
            )
            found.append(Assumption(size, tuple(guilty), base, tuple(broken), example))
    return max(found, key=lambda entry: len(entry.candidates), default=None)

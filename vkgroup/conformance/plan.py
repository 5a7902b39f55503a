"""Which cases go into one program: batches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.cases import Case
from vkgroup.conformance.families import family_named, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.device import Capabilities


@dataclass(frozen=True)
class Batch:
    """Cases of one family that are judged together.

    Attributes
    ----------
    family : the family's name.
    cases : in the order in which they are judged.
    """

    family: str
    cases: list[AnyCase]

    def __len__(self) -> int:
        return len(self.cases)

    def halves(self) -> list[Batch]:
        """Return the batch split in two."""
        middle = len(self.cases) // 2
        return [Batch(self.family, self.cases[:middle]), Batch(self.family, self.cases[middle:])]


def batches(cases: Iterable[AnyCase], capabilities: Capabilities, most: int | None = None) -> Iterator[Batch]:
    """Split cases into batches for a device, cases that share data side by side and barriers last.

    A driver that hangs in a barrier takes the devices of all workers along: let the others be done by then.

    Parameters
    ----------
    most : cases a batch at most; None leaves it to the families.
    """
    groups: dict[tuple[str, Hashable], list[AnyCase]] = {}
    for case in cases:
        family = family_of(case)
        groups.setdefault((family.name, family.batch_key(case)), []).append(case)
    for (name, _), members in sorted(groups.items(), key=lambda group: _waits(group[1][0])):
        members.sort(key=_neighbours)
        step = family_named(name).batch_size(members[0], capabilities)
        if most is not None:
            step = min(step, most)
        for start in range(0, len(members), step):
            yield Batch(name, members[start : start + step])


def _waits(case: AnyCase) -> bool:
    """Whether a case executes a barrier."""
    return isinstance(case, Case) and case.operation in BARRIERS


def _neighbours(case: Any) -> tuple[str, ...]:
    """Return what brings cases together in a batch: those of one type read the same data."""
    return (case.type, case.operation, case.operand) if isinstance(case, Case) else ()

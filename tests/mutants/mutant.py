"""Mutant: a case and one error in the instruction that it tests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vkgroup.conformance.plan import risk
from vkgroup.conformance.subgroup.cases import Case


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong module that a case must distinguish from the original one.

    Attributes
    ----------
    case : case whose program is changed; the program contains no other case.
    operator : the kind of change, a key of `mutants.operators.OPERATORS`.
    choice : variant of the operator; "" if there is only one.
    """

    case: Case
    operator: str
    choice: str = ""

    @property
    def name(self) -> str:
        """The mutant's name, unique among the mutants of a device."""
        change = f"{self.operator}={self.choice}" if self.choice else self.operator
        return f"{self.case.name} {change}"


@dataclass(frozen=True)
class Group:
    """Mutants of one case, which share its honest run: `vkgroup.workers.retry.WorkBatch`.

    Attributes
    ----------
    cases : the mutants.
    """

    cases: Sequence[Mutant]

    @property
    def alone(self) -> bool:
        """True if no other worker may run at the same time; see `vkgroup.conformance.plan.Batch`."""
        return risk(self.cases[0].case) > 0

    def __len__(self) -> int:
        return len(self.cases)

    def only(self, names: Collection[str]) -> Group:
        """Return the group with these of its mutants."""
        return Group([mutant for mutant in self.cases if mutant.name in names])

    def parts(self) -> list[Group]:
        """Return the group split in two."""
        middle = len(self.cases) // 2
        return [Group(self.cases[:middle]), Group(self.cases[middle:])]

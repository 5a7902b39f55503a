"""Comparison of the compiler's statistics of two runs, by operation and type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vkgroup.dispatch.statistics import FIELDS
from vkgroup.record.causes.description import axes_of
from vkgroup.record.record import Results

Statistics = Mapping[str, float]

_AXES = ("stage", "operation", "type")


@dataclass
class StatisticChange:
    """A quantity in the cases of one stage, operation and type.

    Attributes
    ----------
    stage, operation, type : the axes of the cases; empty if they have none.
    quantity : a name of `vkgroup.dispatch.statistics.FIELDS`.
    cases : cases that both runs have a value for.
    worse, better : cases whose value has become worse or better.
    old, new : the sums of the values in both runs.
    largest : the case with the largest change, in relation to its old value.
    largest_old, largest_new : its values.
    """

    stage: str
    operation: str
    type: str
    quantity: str
    cases: int = 0
    worse: int = 0
    better: int = 0
    old: float = 0.0
    new: float = 0.0
    largest: str = ""
    largest_old: float = 0.0
    largest_new: float = 0.0

    @property
    def ratio(self) -> float:
        """The change of the sum as a part of the old one; positive is worse."""
        return (self.new - self.old) * FIELDS[self.quantity].worse / max(abs(self.old), 1.0)

    def add(self, case: str, old: float, new: float) -> None:
        """Add the values of one case."""
        self.cases += 1
        self.old += old
        self.new += new
        difference = (new - old) * FIELDS[self.quantity].worse
        self.worse += difference > 0
        self.better += difference < 0
        if difference and _part(old, new) >= _part(self.largest_old, self.largest_new):
            self.largest, self.largest_old, self.largest_new = case, old, new


def _part(old: float, new: float) -> float:
    return abs(new - old) / max(abs(old), 1.0)


@dataclass
class StatisticDifferences:
    """The compiler's statistics of the cases that both runs have.

    Attributes
    ----------
    compared, same : cases with statistics in both runs, and those whose statistics are equal.
    totals : each quantity in all cases, in the order of `vkgroup.dispatch.statistics.FIELDS`.
    changes : quantities that changed, by stage, operation and type; the largest change of a sum first.
    """

    compared: int = 0
    same: int = 0
    totals: list[StatisticChange] = field(default_factory=list)
    changes: list[StatisticChange] = field(default_factory=list)


def statistic_differences(old: Results, new: Results) -> StatisticDifferences:
    """Compare the statistics of the cases of two runs."""
    before = dict(_statistics(old))
    found = StatisticDifferences()
    totals: dict[str, StatisticChange] = {}
    groups: dict[tuple[str, ...], StatisticChange] = {}
    for case, after in _statistics(new):
        earlier = before.get(case)
        if earlier is None:
            continue
        found.compared += 1
        found.same += earlier == after
        axes = axes_of(case)
        stage, operation, type_ = place = tuple(axes.get(axis, "") for axis in _AXES)
        for quantity in (name for name in FIELDS if name in earlier and name in after):
            values = earlier[quantity], after[quantity]
            totals.setdefault(quantity, StatisticChange("", "", "", quantity)).add(case, *values)
            group = StatisticChange(stage, operation, type_, quantity)
            groups.setdefault((*place, quantity), group).add(case, *values)
    found.totals = [totals[name] for name in FIELDS if name in totals]
    changed = [change for change in groups.values() if change.worse or change.better]
    found.changes = sorted(changed, key=lambda change: (-abs(change.ratio), change.operation, change.type))
    return found


def _statistics(results: Results) -> Iterator[tuple[str, Statistics]]:
    return ((result.case, result.statistics) for result in results if result.statistics is not None)

"""Comparison of costs: two shaders side by side, and regressions against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vkgroup.cost.record import Cost, Status
from vkgroup.dispatch.statistics import FIELDS


@dataclass(frozen=True)
class Change:
    """A change of a quantity, or of the status of a compilation.

    Attributes
    ----------
    device, subgroup_size : those of the cost.
    name : the quantity; ``status`` if the shader compiles no longer.
    old, new : the values; statuses if `name` is ``status``.
    """

    device: str
    subgroup_size: int
    name: str
    old: float | str
    new: float | str

    def __str__(self) -> str:
        title = FIELDS[self.name].title if self.name in FIELDS else self.name
        old, new = (f"{value:,g}" if isinstance(value, float) else value for value in (self.old, self.new))
        return f"{self.device}, subgroups of {self.subgroup_size}: {title} {old} → {new}"


def paired(costs: Iterable[Cost], others: Iterable[Cost]) -> list[tuple[Cost, Cost | None]]:
    """Return each cost with the other cost of the same device and subgroup size, or None.

    Of a compile-only device, a cost of the same version of the driver comes before one of another version.
    """
    others = list(others)
    same_version = {(other.device, other.subgroup_size): other for other in others}
    any_version = {other.key: other for other in others}
    return [
        (cost, same_version.get((cost.device, cost.subgroup_size)) or any_version.get(cost.key))
        for cost in costs
    ]


def regressions(costs: Sequence[Cost], baseline: Sequence[Cost], threshold: float) -> list[Change]:
    """Return the quantities that are worse than in the baseline by more than a fraction of the old value.

    A shader that compiled in the baseline and does not compile any more is a regression, too. Devices and
    subgroup sizes that the baseline lacks are left out.
    """
    changes: list[Change] = []
    for cost, old in paired(costs, baseline):
        if old is None or old.status is not Status.COMPILED:
            continue
        if cost.status is not Status.COMPILED:
            changes.append(Change(cost.device, cost.subgroup_size, "status", old.status, cost.status))
            continue
        changes += [
            Change(cost.device, cost.subgroup_size, name, before, cost.quantities[name])
            for name, before in old.quantities.items()
            if name in cost.quantities and _is_worse(name, before, cost.quantities[name], threshold)
        ]
    return changes


def _is_worse(name: str, old: float, new: float, threshold: float) -> bool:
    difference = (new - old) * FIELDS[name].worse
    return difference > threshold * abs(old)

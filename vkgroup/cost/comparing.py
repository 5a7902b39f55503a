"""Comparison of costs: two shaders side by side, and regressions against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vkgroup.cost.record import CompileStatus, Cost
from vkgroup.dispatch.statistics import FIELDS
from vkgroup.drivers.cache import version_key


@dataclass(frozen=True)
class CostChange:
    """A change of a quantity, or of the status of a compilation.

    Attributes
    ----------
    device, subgroup_size : those of the new cost.
    old_device : that of the old cost, which may have another version of the driver.
    name : the quantity; ``status`` if the shader compiles no longer.
    old, new : the values; statuses if `name` is ``status``.
    """

    device: str
    old_device: str
    subgroup_size: int
    name: str
    old: float | str
    new: float | str

    def __str__(self) -> str:
        title = FIELDS[self.name].title if self.name in FIELDS else self.name
        old, new = (f"{value:,g}" if isinstance(value, float) else value for value in (self.old, self.new))
        version = "" if self.old_device == self.device else f", old: {self.old_device}"
        return f"{self.device}, subgroups of {self.subgroup_size}{version}: {title} {old} → {new}"


def paired(costs: Iterable[Cost], others: Iterable[Cost]) -> list[tuple[Cost, Cost | None]]:
    """Return each cost with the other shader's cost on the same device at the same subgroup size, or None."""
    by_device = {(other.device, other.subgroup_size): other for other in others}
    return [(cost, by_device.get((cost.device, cost.subgroup_size))) for cost in costs]


def with_recorded(costs: Sequence[Cost], baseline: Sequence[Cost]) -> Iterator[tuple[Cost, Cost | None]]:
    """Yield each cost with that of the baseline, None if it lacks the GPU or the subgroup size.

    It is the cost of the same version and build of the driver, else of the newest version.
    """
    by_version = sorted(baseline, key=lambda old: version_key(old.device.partition(":")[0]))
    newest = {old.key: old for old in by_version}
    for cost, same in paired(costs, baseline):
        yield cost, same or newest.get(cost.key)


def regressions(costs: Sequence[Cost], baseline: Sequence[Cost], threshold: float) -> list[CostChange]:
    """Return the quantities that are worse than in the baseline by more than a fraction of the old value.

    A shader that compiled in the baseline and does not compile any more is a regression, too. Devices and
    subgroup sizes that the baseline lacks are left out; see `with_recorded`.
    """
    changes: list[CostChange] = []
    for cost, old in with_recorded(costs, baseline):
        if old is None or old.status is not CompileStatus.COMPILED:
            continue
        place = (cost.device, old.device, cost.subgroup_size)
        if cost.status is not CompileStatus.COMPILED:
            changes.append(CostChange(*place, "status", old.status, cost.status))
            continue
        changes += [
            CostChange(*place, name, before, cost.quantities[name])
            for name, before in old.quantities.items()
            if name in cost.quantities and _is_worse(name, before, cost.quantities[name], threshold)
        ]
    return changes


def _is_worse(name: str, old: float, new: float, threshold: float) -> bool:
    difference = (new - old) * FIELDS[name].worse
    return difference > threshold * abs(old)

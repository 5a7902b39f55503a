"""Full subgroups: as many invocations as the subgroup size if the workgroup has enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vkgroup.probe.layout import Extent, Layout, text_of
from vkgroup.probe.outcome import Json, listed


@dataclass(frozen=True)
class Filling:
    """Number of invocations in each subgroup of one workgroup.

    Attributes
    ----------
    extent : the workgroup's size in x, y and z.
    size : the greatest ``gl_SubgroupSize`` in it.
    populations : invocations of each subgroup, in the order of `Layout.subgroup`.
    """

    extent: Extent
    size: int
    populations: tuple[int, ...]

    @property
    def multiple(self) -> bool:
        """Whether the workgroup is a multiple of the subgroup size."""
        return sum(self.populations) % self.size == 0

    @property
    def tight(self) -> bool:
        """Whether every subgroup is full, except the last, which has the remaining invocations."""
        needed = -(-sum(self.populations) // self.size)
        return len(self.populations) == needed and all(count == self.size for count in self.populations[:-1])

    def to_json(self) -> dict[str, Json]:
        """Return the populations and the properties derived from them."""
        return {
            "extent": list(self.extent),
            "subgroup_size": self.size,
            "populations": list(self.populations),
            "multiple_of_subgroup_size": self.multiple,
            "all_but_last_full": self.tight,
        }


@dataclass(frozen=True)
class FullSubgroups:
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


def full_subgroups(layouts: Sequence[Layout]) -> FullSubgroups:
    """Return the number of invocations in each subgroup of several workgroups."""
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

"""Batches: groups of cases that share one program."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from vkgroup.conformance.barriers import BARRIERS, SEEN_TO_HANG
from vkgroup.conformance.case import Case
from vkgroup.conformance.families import family_named, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.device import Capabilities

SEEN = 2
"""The `risk` from which on a case runs alone."""


@dataclass(frozen=True)
class Batch:
    """Cases of one family that are judged together.

    Attributes
    ----------
    family : the family's name.
    cases : in the order in which they are judged.
    alone : whether no other batch may run meanwhile, because a hang would affect all.
    """

    family: str
    cases: list[AnyCase]
    alone: bool = False

    def __len__(self) -> int:
        return len(self.cases)

    def only(self, names: Collection[str]) -> Batch:
        """Return the batch with only these of its cases."""
        return replace(self, cases=[case for case in self.cases if case.name in names])

    def parts(self) -> list[Batch]:
        """Return the batch split in two, or into single cases if each further hang costs seconds."""
        if self.alone:
            return [replace(self, cases=[case]) for case in self.cases]
        middle = len(self.cases) // 2
        return [replace(self, cases=self.cases[:middle]), replace(self, cases=self.cases[middle:])]


def batches(
    cases: Iterable[AnyCase], capabilities: Capabilities, most: int | None = None, shuffle: int | None = None
) -> Iterator[Batch]:
    """Split cases into batches for a device: cases that share data together, cases that may hang last.

    A GPU that hangs is lost for all workers, and may hang again in the next work (both seen on an H200,
    docs/driver-findings.md). So cases that may hang come last on GPUs, in the order of `risk`, and cases in
    which drivers have hung run alone.

    Parameters
    ----------
    most : maximum number of cases in a batch; None lets the families decide.
    shuffle : seed of another order, of the cases that can share a batch and of the batches; cases that may
        hang stay last. Some batches of an order, planned again with its seed, are the same batches.
    """
    planned = list(_in_order(cases, capabilities, most, shuffle))
    if shuffle is not None:
        planned.sort(key=lambda batch: (risk(batch.cases[0]), _order_key(shuffle, batch.cases[0])))
    return iter(planned)


def _in_order(
    cases: Iterable[AnyCase], capabilities: Capabilities, most: int | None, shuffle: int | None
) -> Iterator[Batch]:
    """Yield the batches group by group; see `batches`."""
    groups: dict[tuple[str, Hashable], list[AnyCase]] = {}
    for case in cases:
        family = family_of(case)
        groups.setdefault((family.name, family.batch_key(case)), []).append(case)
    for (name, _), members in sorted(groups.items(), key=lambda group: risk(group[1][0])):
        members.sort(key=neighbours if shuffle is None else lambda case: _order_key(shuffle, case))
        step = family_named(name).batch_size(members[0], capabilities)
        if most is not None:
            step = min(step, most)
        for start in range(0, len(members), step):
            alone = capabilities.is_gpu and risk(members[0]) >= SEEN
            yield Batch(name, members[start : start + step], alone)


def risk(case: AnyCase) -> int:
    """Return how likely a case hangs a GPU.

    0; 1 for barriers; `SEEN` for those in which drivers have hung, and one more if the barrier makes
    invocations wait for each other.
    """
    if not isinstance(case, Case) or case.operation not in BARRIERS:
        return 0
    if (case.stage, case.pattern) not in SEEN_TO_HANG:
        return 1
    return SEEN + (BARRIERS[case.operation].kind == "exchange")


def _order_key(seed: int, case: AnyCase) -> bytes:
    """Return a case's sort key in the order of a seed, which does not depend on other cases."""
    return blake2b(f"{seed} {case.name}".encode(), digest_size=8).digest()


def neighbours(case: Any) -> tuple[str, ...]:
    """Return what brings cases together in a batch: those of one type read the same data."""
    if not isinstance(case, Case) or case.is_spelled:
        return ()
    return case.type, case.operation, case.operand

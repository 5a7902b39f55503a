"""Selection of the mutants of a device: all errors in some cases of each operation in each stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from zlib import crc32

from mutants.choices import mutants_of
from mutants.mutant import Group, Mutant
from vkgroup.conformance.subgroup import family
from vkgroup.conformance.subgroup.cases import Case, subgroup_cases
from vkgroup.device import Capabilities
from vkgroup.programs.glsl_types import is_long

_Named = TypeVar("_Named", Case, Mutant)

PATTERNS = ("all", "data_mask")
"""Patterns of the selected cases; their programs contain the operation once."""

_NOTHING_DEFINED = ("beyond", "straddling")


def generate(
    capabilities: Capabilities,
    *,
    seed: int = 0,
    stages: Sequence[str] = (),
    cases: int = 2,
    limit: int | None = None,
) -> list[Group]:
    """Return mutants in groups by their case; equal arguments give equal mutants.

    Parameters
    ----------
    capabilities : of the device; operations that it does not declare have no mutants.
    seed : of the selection of cases.
    stages : shader stages; empty: all.
    cases : number of cases of each operation in each stage.
    limit : largest number of mutants, taken evenly from all operations and stages.
    """
    chosen: list[list[Mutant]] = []
    for members in _by_operation(stages).values():
        usable = (case for case in _shuffled(members, seed) if not family.missing(case, capabilities))
        chosen += [_shuffled(mutants_of(case, capabilities), seed) for case in _distinct(usable, cases)]
    return [Group(mutants) for mutants in _thinned(chosen, limit) if mutants]


def _by_operation(stages: Sequence[str]) -> dict[tuple[str, str], list[Case]]:
    """Return the cases that can have mutants, by stage and operation."""
    cases: dict[tuple[str, str], list[Case]] = {}
    for case in subgroup_cases():
        plain = case.shape == "1d" and not case.subgroup_size and case.pattern in PATTERNS
        plain = plain and not is_long(case.glsl_type)
        if plain and case.operand not in _NOTHING_DEFINED and (not stages or case.stage in stages):
            cases.setdefault((case.stage, case.operation), []).append(case)
    return cases


def _shuffled(items: Iterable[_Named], seed: int) -> list[_Named]:
    return sorted(items, key=lambda item: crc32(f"{seed} {item.name}".encode()))


def _distinct(cases: Iterable[Case], count: int) -> Iterator[Case]:
    """Yield the first cases that differ in pattern and operand, exact data first of all."""
    seen: list[Case] = []
    for case in cases:
        if len(seen) == count:
            return
        exact = case.data == "exact" or len(seen) > 1
        operands = {other.operand for other in seen}
        patterns = {other.pattern for other in seen}
        new = case.pattern not in patterns or len(patterns) == len(PATTERNS)
        if exact and new and (case.operand not in operands or not case.operand):
            seen.append(case)
            yield case


def _thinned(groups: list[list[Mutant]], limit: int | None) -> list[list[Mutant]]:
    """Return the groups reduced to a total number of mutants, taken from each in turn."""
    if limit is None:
        return groups
    thinned: list[list[Mutant]] = [[] for _ in groups]
    left = limit
    for turn in range(max(map(len, groups), default=0)):
        for group, into in zip(groups, thinned, strict=True):
            if turn < len(group) and left:
                into.append(group[turn])
                left -= 1
    return thinned

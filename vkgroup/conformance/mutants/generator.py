"""The set of mutants of a device: some cases of every operation in every stage, and every error in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from zlib import crc32

from vkgroup.conformance import support
from vkgroup.conformance.case import Case
from vkgroup.conformance.cases import subgroup_cases
from vkgroup.conformance.long_vectors import is_long
from vkgroup.conformance.mutants.choices import mutants_of
from vkgroup.conformance.mutants.mutant import Group, Mutant
from vkgroup.device import Capabilities

_Named = TypeVar("_Named", Case, Mutant)

PATTERNS = ("all", "data_mask")
"""The patterns that cases are taken of, in both of which the operation stands at one place."""

_NOTHING_DEFINED = ("beyond", "straddling")


def generate(
    capabilities: Capabilities,
    *,
    seed: int = 0,
    stages: Sequence[str] = (),
    cases: int = 2,
    limit: int | None = None,
) -> list[Group]:
    """Return mutants in groups by their case; the same arguments give the same.

    Parameters
    ----------
    capabilities : of the device: what it does not declare has no mutants.
    seed : by which cases are chosen.
    stages : shader stages; all where there is none.
    cases : of each operation in each stage.
    limit : mutants at most, taken from all operations and stages alike.
    """
    chosen: list[list[Mutant]] = []
    for members in _by_operation(stages).values():
        usable = (case for case in _shuffled(members, seed) if not support.missing(case, capabilities))
        chosen += [_shuffled(mutants_of(case, capabilities), seed) for case in _distinct(usable, cases)]
    return [Group(mutants) for mutants in _thinned(chosen, limit) if mutants]


def _by_operation(stages: Sequence[str]) -> dict[tuple[str, str], list[Case]]:
    """Return the cases that mutants are made of, by stage and operation."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in subgroup_cases():
        plain = case.shape == "1d" and not case.subgroup_size and case.pattern in PATTERNS
        plain = plain and not is_long(case.glsl_type)
        if plain and case.operand not in _NOTHING_DEFINED and (not stages or case.stage in stages):
            found.setdefault((case.stage, case.operation), []).append(case)
    return found


def _shuffled(items: Iterable[_Named], seed: int) -> list[_Named]:
    return sorted(items, key=lambda item: crc32(f"{seed} {item.name}".encode()))


def _distinct(cases: Iterable[Case], count: int) -> Iterator[Case]:
    """Yield the first cases that differ in pattern and operand, exact data first of all."""
    seen: list[Case] = []
    for case in cases:
        if len(seen) == count:
            return
        exact = case.data == "exact" or len(seen) > 1
        operands = {one.operand for one in seen}
        patterns = {one.pattern for one in seen}
        new = case.pattern not in patterns or len(patterns) == len(PATTERNS)
        if exact and new and (case.operand not in operands or not case.operand):
            seen.append(case)
            yield case


def _thinned(groups: list[list[Mutant]], limit: int | None) -> list[list[Mutant]]:
    """Return the groups with so many mutants in all, taken from each in turn."""
    if limit is None:
        return groups
    kept: list[list[Mutant]] = [[] for _ in groups]
    left = limit
    for turn in range(max(map(len, groups), default=0)):
        for group, into in zip(groups, kept, strict=True):
            if turn < len(group) and left:
                into.append(group[turn])
                left -= 1
    return kept

"""The families that make up the suite, and its cases by name and by glob."""

from __future__ import annotations

from fnmatch import translate
from functools import cache
from re import compile as compile_pattern

from vkgroup.conformance.compute_model.family import COMPUTE_MODEL
from vkgroup.conformance.cooperative_matrix.family import COOPERATIVE_MATRIX
from vkgroup.conformance.descriptor_indexing.family import DESCRIPTOR_INDEXING
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.fragment.family import FRAGMENT
from vkgroup.conformance.quad_control.family import QUAD_CONTROL
from vkgroup.conformance.reconvergence import TERMINATED_FRAGMENTS, ReconvergenceFamily
from vkgroup.conformance.shader_clock import SHADER_CLOCK
from vkgroup.conformance.size_control.family import SIZE_CONTROL
from vkgroup.conformance.sm_builtins import SM_BUILTINS
from vkgroup.conformance.spellings.hlsl import HlslFamily
from vkgroup.conformance.spellings.legacy_ballot import LegacyBallotFamily
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.conformance.thread_group.family import THREAD_GROUP
from vkgroup.garbage_collection import paused

FAMILIES: tuple[Family, ...] = (
    SubgroupFamily(),
    FRAGMENT,
    THREAD_GROUP,
    LegacyBallotFamily(),
    COMPUTE_MODEL,
    HlslFamily(),
    ReconvergenceFamily(),
    TERMINATED_FRAGMENTS,
    COOPERATIVE_MATRIX,
    SM_BUILTINS,
    SHADER_CLOCK,
    SIZE_CONTROL,
    DESCRIPTOR_INDEXING,
    QUAD_CONTROL,
)
"""Every family, in the order in which their cases are listed."""


def family_named(name: str) -> Family:
    """Return the family of a name; KeyError where none has it."""
    return {family.name: family for family in FAMILIES}[name]


@cache
def _cases_by_family() -> tuple[tuple[Family, tuple[AnyCase, ...]], ...]:
    """Return every family with its cases, which are made once."""
    return tuple((family, tuple(family.cases())) for family in FAMILIES)


@cache
def _families_by_kind() -> dict[tuple[type, str], Family]:
    """Return the family of each class and category of cases: no two families share both."""
    return {(type(case), case.category): family for family, cases in _cases_by_family() for case in cases}


def family_of(case: AnyCase) -> Family:
    """Return the family that a case belongs to; KeyError where the suite has no such cases."""
    return _families_by_kind()[type(case), case.category]


@cache
def all_cases() -> tuple[AnyCase, ...]:
    """Return every case of the suite, in the order in which they are listed; needs no device."""
    return tuple(case for _, cases in _cases_by_family() for case in cases)


@cache
def cases_by_name() -> dict[str, AnyCase]:
    """Return every case by its name."""
    with paused():
        return {case.name: case for case in all_cases()}


def select(filters: tuple[str, ...] = ()) -> tuple[AnyCase, ...]:
    """Return the cases whose names match any of the globs; all cases where there is none.

    A glob is matched against the whole name, letter case counting: ``*``, ``?`` and ``[…]`` as in
    `fnmatch`.
    """
    if not filters:
        return all_cases()
    pattern = compile_pattern("|".join(translate(glob) for glob in filters))
    return tuple(case for name, case in cases_by_name().items() if pattern.match(name))

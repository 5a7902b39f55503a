"""The families of the suite, and its cases by name and by glob."""

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

_WILDCARD = compile_pattern(r"[*?\[]")


def family_named(name: str) -> Family:
    """Return the family with this name; KeyError if there is none."""
    return {family.name: family for family in FAMILIES}[name]


@cache
def _cases_of(family: Family) -> tuple[AnyCase, ...]:
    """Return the cases of a family; they are created once."""
    return tuple(family.cases())


@cache
def _family_of_kind(kind: type, category: str) -> Family:
    """Return the family of a class and a category of cases.

    The cases are listed only if several families share the category.
    """
    families = [family for family in FAMILIES if category in family.categories]
    if len(families) > 1:
        families = [family for family in families if any(type(case) is kind for case in _cases_of(family))]
    if not families:
        raise KeyError(category)
    return families[0]


def family_of(case: AnyCase) -> Family:
    """Return the family that a case belongs to; KeyError if there is none."""
    return _family_of_kind(type(case), case.category)


@cache
def all_cases() -> tuple[AnyCase, ...]:
    """Return every case of the suite, in the order of the families; needs no device."""
    return tuple(case for family in FAMILIES for case in _cases_of(family))


@cache
def cases_by_name() -> dict[str, AnyCase]:
    """Return every case by its name."""
    with paused():
        return {case.name: case for case in all_cases()}


def _categories_match(family: Family, globs: tuple[str, ...]) -> bool:
    """Whether a glob may match names of a family's categories: the parts of names before the first dot."""
    beginnings = [_WILDCARD.split(glob, maxsplit=1)[0] for glob in globs]
    return any(
        f"{category}.".startswith(beginning[: len(category) + 1])
        for category in family.categories
        for beginning in beginnings
    )


@cache
def select(filters: tuple[str, ...] = ()) -> tuple[AnyCase, ...]:
    """Return the cases whose names match any of the globs; all cases if there are no globs.

    A glob is matched against the whole name and is case-sensitive: ``*``, ``?`` and ``[…]`` as in `fnmatch`.
    The cases of a family are listed only if a glob can match its categories.
    """
    if not filters:
        return all_cases()
    pattern = compile_pattern("|".join(translate(glob) for glob in filters))
    families = [family for family in FAMILIES if _categories_match(family, filters)]
    with paused():
        return tuple(case for family in families for case in _cases_of(family) if pattern.match(case.name))

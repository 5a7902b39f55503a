"""The families of the suite, and its cases by name and by glob."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from re import compile as compile_pattern

from vkgroup.base.garbage_collection import paused
from vkgroup.conformance.cases import subgroup_names
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.globs import Globs
from vkgroup.spec.categories import Category


@dataclass(frozen=True)
class _Entry:
    """A family before its module is imported: commands with few cases need few families."""

    name: str
    location: str  # module in this package and name in it
    categories: tuple[str, ...]


def _entry(name: str, location: str, *categories: str) -> _Entry:
    return _Entry(name, location, categories or (name,))


_ENTRIES = (
    _entry("subgroup", "subgroup:SUBGROUP", *(category.value for category in Category)),
    _entry("fragment", "fragment.family:FRAGMENT"),
    _entry("thread_group", "thread_group.family:THREAD_GROUP"),
    _entry("legacy_ballot", "spellings.legacy_ballot:LEGACY_BALLOT"),
    _entry("compute_model", "compute_model.family:COMPUTE_MODEL"),
    _entry("hlsl", "spellings.hlsl:HLSL"),
    _entry("reconvergence", "reconvergence.family:RECONVERGENCE"),
    _entry("leaving", "reconvergence.termination_family:TERMINATED_FRAGMENTS", "reconvergence"),
    _entry("cooperative_matrix", "cooperative_matrix.family:COOPERATIVE_MATRIX"),
    _entry("sm_builtins", "sm_builtins:SM_BUILTINS"),
    _entry("shader_clock", "shader_clock:SHADER_CLOCK"),
    _entry("size_control", "size_control.family:SIZE_CONTROL", "size_control", "multiple_dispatches"),
    _entry("descriptor_indexing", "descriptor_indexing.family:DESCRIPTOR_INDEXING"),
    _entry("quad_control", "quad_control.family:QUAD_CONTROL"),
)
"""Every family, in the order in which their cases are listed."""

_DOT = compile_pattern(r"\.")

_DEPTH = 4
"""Parts of a name that a family can leave cases out by: category, stage, operation, type."""


@cache
def family_named(name: str) -> Family:
    """Return the family with this name; KeyError if there is none."""
    entry = {entry.name: entry for entry in _ENTRIES}[name]
    module, _, attribute = entry.location.partition(":")
    family: Family = getattr(import_module(f"vkgroup.conformance.{module}"), attribute)
    return family


def all_families() -> tuple[Family, ...]:
    """Return every family, in the order in which their cases are listed."""
    return tuple(family_named(entry.name) for entry in _ENTRIES)


@cache
def _cases_of(family: Family) -> tuple[AnyCase, ...]:
    """Return the cases of a family; they are created once."""
    return tuple(family.cases())


@cache
def _family_of_kind(kind: type, category: str) -> Family:
    """Return the family of a class and a category of cases.

    The cases are listed only if several families share the category.
    """
    families = [family_named(entry.name) for entry in _ENTRIES if category in entry.categories]
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
    return tuple(case for family in all_families() for case in _cases_of(family))


@cache
def cases_by_name() -> dict[str, AnyCase]:
    """Return every case by its name."""
    with paused():
        return {case.name: case for case in all_cases()}


def cases_named(names: Collection[str]) -> dict[str, AnyCase]:
    """Return the cases with these names, by name, in the order of the suite; lists only parts of it."""
    wanted = frozenset(names)
    beginnings = {name[: dot.end()] for name in wanted for dot in _DOT.finditer(name)}
    with paused():
        return {
            case.name: case
            for entry in _ENTRIES
            if any(f"{category}." in beginnings for category in entry.categories)
            for case in _cases_beginning(entry, beginnings)
            if case.name in wanted
        }


def case_named(name: str) -> AnyCase | None:
    """Return the case with this name; None if there is none."""
    beginning = ".".join(name.split(".")[:_DEPTH])
    return _named_alike(beginning).get(name)


@lru_cache(1000)
def _named_alike(beginning: str) -> dict[str, AnyCase]:
    """Return the cases whose names have the same first parts, by name."""
    parts = beginning.split(".")
    beginnings = {f"{'.'.join(parts[:count])}." for count in range(1, len(parts) + 1)}
    return {
        case.name: case
        for entry in _ENTRIES
        if parts[0] in entry.categories
        for case in _cases_beginning(entry, beginnings)
        if case.name == beginning or case.name.startswith(f"{beginning}.")
    }


def _cases_beginning(entry: _Entry, beginnings: Collection[str]) -> Iterable[AnyCase]:
    """Return the cases of a family whose names may have these beginnings; most families list all cases."""
    family = family_named(entry.name)
    return family.cases(beginnings.__contains__) if entry.name == "subgroup" else _cases_of(family)


def _matching(globs: Globs) -> Iterator[AnyCase]:
    """Yield the cases whose names match, in the order of the suite."""
    for entry in _ENTRIES:
        if any(globs.may_begin(f"{category}.") for category in entry.categories):
            cases = family_named(entry.name).cases(globs.may_begin)
            yield from (case for case in cases if globs.match(case.name))


def select_names(filters: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of the cases that `select` returns, in the same order, without making them first."""
    globs = Globs(filters)
    for entry in _ENTRIES:
        if not any(globs.may_begin(f"{category}.") for category in entry.categories):
            continue
        if entry.name == "subgroup":
            names = subgroup_names(globs.may_begin)
        else:
            names = (case.name for case in family_named(entry.name).cases(globs.may_begin))
        yield from names if not filters else filter(globs.match, names)


@cache
def select(filters: tuple[str, ...] = ()) -> tuple[AnyCase, ...]:
    """Return the cases whose names match any of the globs; all cases if there are no globs.

    A glob is matched against the whole name and is case-sensitive: ``*``, ``?`` and ``[…]`` as in `fnmatch`.
    Families, stages, operations and types in which no name can match are not listed.
    """
    if not filters:
        return all_cases()
    with paused():
        return tuple(_matching(Globs(filters)))

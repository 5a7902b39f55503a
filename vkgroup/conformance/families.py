"""The families of the suite, and its cases by name and by glob."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from re import compile as compile_pattern
from typing import Any, NamedTuple

from vkgroup.base.lifetime import paused
from vkgroup.base.suggestions import similar
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.globs import Globs, MayBegin
from vkgroup.conformance.subgroup.cases import subgroup_cases, subgroup_names
from vkgroup.spec.categories import Category


class _Entry(NamedTuple):
    """A family before its module is imported: commands with few cases need few families."""

    name: str
    location: str  # module in this package and name in it
    beginnings: tuple[str, ...]  # beginnings of the names of its cases

    def may_match(self, may_begin: MayBegin) -> bool:
        """Return whether the name of a case may be wanted."""
        return any(may_begin(f"{beginning}.") for beginning in self.beginnings)


def _entry(name: str, location: str, *beginnings: str) -> _Entry:
    return _Entry(name, location, beginnings or (name,))


_LEAVING = (
    "reconvergence.maximal.fragment",
    "reconvergence.subgroup_uniform.discard",
    "reconvergence.terminate_invocation",
)

_ENTRIES = (
    _entry("subgroup", "subgroup.family:SUBGROUP", *(category.value for category in Category)),
    _entry("fragment", "fragment.family:FRAGMENT"),
    _entry("fragment.load", "fragment.loads:LOADS"),
    _entry("thread_group", "thread_group.family:THREAD_GROUP"),
    _entry("legacy_ballot", "spellings.legacy_ballot:LEGACY_BALLOT"),
    _entry("compute_model.builtins", "compute_model.builtins:BUILTINS_TOPIC"),
    _entry("compute_model.constants", "compute_model.builtins:CONSTANTS_TOPIC"),
    _entry("compute_model.shared", "compute_model.shared_memory:SHARED_TOPIC"),
    _entry("compute_model.coherence", "compute_model.coherence:COHERENCE_TOPIC"),
    _entry("compute_model.litmus", "compute_model.litmus:LITMUS_TOPIC"),
    _entry("compute_model.atomics", "compute_model.atomics:ATOMICS_TOPIC"),
    _entry("compute_model.counters", "compute_model.counters:COUNTERS_TOPIC"),
    _entry("compute_model.dispatches", "compute_model.dispatches:DISPATCHES_TOPIC"),
    _entry("hlsl", "spellings.hlsl:HLSL"),
    _entry("hlsl_later", "spellings.hlsl:HLSL_LATER"),
    _entry("hlsl_fragment", "spellings.hlsl_fragment:HLSL_FRAGMENT"),
    _entry("hlsl_reconvergence", "spellings.hlsl_reconvergence:HLSL_RECONVERGENCE"),
    _entry("slang", "spellings.hlsl:SLANG"),
    _entry("slang_reconvergence", "spellings.hlsl_reconvergence:SLANG_RECONVERGENCE"),
    _entry("wgsl", "spellings.wgsl:WGSL"),
    _entry("reconvergence", "reconvergence.family:RECONVERGENCE"),
    _entry("leaving", "reconvergence.termination_family:TERMINATED_FRAGMENTS", *_LEAVING),
    _entry("cooperative_matrix", "cooperative_matrix.family:COOPERATIVE_MATRIX"),
    _entry("sm_builtins", "sm_builtins:SM_BUILTINS"),
    _entry("shader_clock", "shader_clock:SHADER_CLOCK"),
    _entry("extended_instruction", "extended_instructions.family:EXTENDED_INSTRUCTIONS"),
    _entry("reported", "reported:REPORTED"),
    _entry("split_barrier", "split_barriers:SPLIT_BARRIERS"),
    _entry("memory_access", "memory_access.family:MEMORY_ACCESS"),
    _entry("reported_matrices", "reported_matrices:REPORTED_MATRICES", "reported.compute.matrix_operations"),
    _entry("memory_model", "memory_model.family:MEMORY_MODEL"),
    _entry("size_control.properties", "size_control.family:SIZE_PROPERTIES"),
    _entry("size_control", "size_control.family:SIZE_CONTROL", "size_control", "multiple_dispatches"),
    _entry("descriptor_indexing", "descriptor_indexing.family:DESCRIPTOR_INDEXING"),
    _entry("quad_control", "quad_control.family:QUAD_VOTES"),
    _entry("quad_control.scene", "quad_control.family:FULL_QUADS"),
    _entry("quad_control.derivative_group", "quad_control.derivatives:DERIVATIVE_GROUPS"),
)
"""Every family, in the order in which their cases are listed."""

ASKED = ("hlsl_later", "hlsl_fragment", "hlsl_reconvergence", "slang", "slang_reconvergence", "wgsl")
"""Families whose cases only filters that begin with their name select: they need what few machines have."""

KHRONOS = "dEQP-VK."
"""The beginning of the names of Khronos' suite; see `vkgroup.conformance.khronos`."""

_LOCATIONS = {entry.name: entry.location for entry in _ENTRIES}

_BY_BEGINNING = {beginning: entry.name for entry in _ENTRIES for beginning in entry.beginnings}
"""Names of the families by the beginnings of their cases; the longest that fits counts."""

CATEGORIES = tuple(dict.fromkeys(beginning.partition(".")[0] for beginning in _BY_BEGINNING))
"""The first parts of all names."""

_DIVIDED = frozenset(name.partition(".")[0] for name in _BY_BEGINNING if "." in name)
"""The categories that several families share."""

_DOT = compile_pattern(r"\.")

_COMPARED = 2000
"""Maximum number of names that are compared letter by letter with an unknown name."""

_DEPTH = 4
"""Parts of a name that a family can leave cases out by: category, stage, operation, type."""


@cache
def family_named(name: str) -> Family[Any]:
    """Return the family with this name; KeyError if there is none."""
    module, _, attribute = _LOCATIONS[name].partition(":")
    family: Family[Any] = getattr(import_module(f"vkgroup.conformance.{module}"), attribute)
    return family


def file_of(family: Family[Any]) -> str:
    """Return the path of the file that defines a family: ``vkgroup/conformance/…``."""
    return f"vkgroup/conformance/{_LOCATIONS[family.name].partition(':')[0].replace('.', '/')}.py"


def all_families() -> tuple[Family[Any], ...]:
    """Return every family, in the order in which their cases are listed."""
    return tuple(family_named(entry.name) for entry in _ENTRIES)


@cache
def _cases_of(name: str) -> tuple[AnyCase, ...]:
    """Return the cases of a family; they are created once."""
    return tuple(family_named(name).cases())


def family_of(case: AnyCase) -> Family[Any]:
    """Return the family that a case belongs to; KeyError if there is none."""
    beginning = case.category
    if beginning in _DIVIDED:
        parts = case.name.split(".")
        beginnings = (".".join(parts[:count]) for count in (3, 2, 1))
        beginning = next(name for name in beginnings if name in _BY_BEGINNING)
    return family_named(_BY_BEGINNING[beginning])


@cache
def all_cases() -> tuple[AnyCase, ...]:
    """Return every case of the suite, in the order of the families; needs no device."""
    return tuple(case for entry in _ENTRIES if entry.name not in ASKED for case in _cases_of(entry.name))


@cache
def cases_by_name() -> dict[str, AnyCase]:
    """Return every case by its name, also of the families that filters select by name only."""
    with paused():
        return {case.name: case for entry in _ENTRIES for case in _cases_of(entry.name)}


def cases_named(names: Collection[str]) -> dict[str, AnyCase]:
    """Return the cases with these names, by name, in the order of the suite; lists only parts of it."""
    wanted = frozenset(names)
    beginnings = {name[: dot.end()] for name in wanted for dot in _DOT.finditer(name)}
    with paused():
        return {case.name: case for case in _matching(beginnings.__contains__, wanted.__contains__)}


def case_named(name: str) -> AnyCase | None:
    """Return the case with this name; None if there is none."""
    return _named_alike(".".join(name.split(".")[:_DEPTH])).get(name)


@lru_cache(1000)
def _named_alike(beginning: str) -> dict[str, AnyCase]:
    """Return the cases whose names have the same first parts, by name."""
    whole = f"{beginning}."
    beginnings = {whole[: dot.end()] for dot in _DOT.finditer(whole)}

    alike = _matching(beginnings.__contains__, lambda name: f"{name}.".startswith(whole))
    return {case.name: case for case in alike}


def with_categories(filters: Iterable[str]) -> tuple[str, ...]:
    """Return globs for filters of which some are words: the categories that have the word in their name.

    Of the families in `ASKED` it must be the whole name.
    """
    globs: list[str] = []
    for word in filters:
        fitting = [name for name in CATEGORIES if f"_{word}_" in f"_{name}_"]
        named = [name for name in fitting if name == word or name not in ASKED]
        globs += [f"{name}.*" for name in named] or [word]
    return tuple(globs)


def _entries(filters: tuple[str, ...]) -> list[_Entry]:
    """Return the families from which filters may select cases."""
    asked = {name for name in ASKED if any(glob.startswith(name) for glob in filters)}
    return [entry for entry in _ENTRIES if entry.name not in ASKED or entry.name in asked]


def _matching(
    may_begin: MayBegin, match: Callable[[str], bool], entries: Iterable[_Entry] = _ENTRIES
) -> Iterator[AnyCase]:
    """Yield the cases whose names match, in the order of the suite; `may_begin` leaves out parts of it."""
    for entry in entries:
        if entry.may_match(may_begin):
            cases = subgroup_cases(may_begin) if entry.name == "subgroup" else _cases_of(entry.name)
            yield from (case for case in cases if match(case.name))


def select_names(filters: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of the cases that `select` returns, in the same order, without making them first."""
    globs = Globs(filters)
    for entry in _entries(filters):
        if entry.may_match(globs.may_begin):
            names: Iterable[str] = subgroup_names(globs.may_begin)
            if entry.name != "subgroup":
                names = (case.name for case in _cases_of(entry.name))
            yield from names if not filters else filter(globs.match, names)


def similar_names(name: str, count: int) -> list[str]:
    """Return the names most similar to one that does not exist, at most `count`; empty if none is near.

    Of the names of a similar category, those with the most equal parts are compared letter by letter.
    """
    first, *others = name.split(".")
    filters = tuple(f"{category}.*" for category in similar(first, CATEGORIES))
    by_parts: dict[int, list[str]] = {}
    for other in select_names(filters) if filters else ():
        by_parts.setdefault(len(set(others).intersection(other.split("."))), []).append(other)
    nearest = by_parts[max(by_parts)][:_COMPARED] if by_parts else []
    return similar(name, nearest, count, cutoff=0.0)


def nearest_filter(glob: str) -> str:
    """Return the question whether another glob is meant: one with the nearest words, or for a part of a name.

    It is empty if no such glob matches a case.
    """
    words = {word for name in select_names() for word in name.split(".")}.union(CATEGORIES)
    corrected = ".".join(
        word if word in words or set("*?[") & set(word) else "".join(similar(word, words))
        for word in glob.split(".")
    )
    globs = (corrected, f"{corrected}.*", f"*.{corrected}.*")
    return next((f" Did you mean {other!r}?" for other in globs if any(select_names((other,)))), "")


@cache
def select(filters: tuple[str, ...] = ()) -> tuple[AnyCase, ...]:
    """Return the cases whose names match any of the globs; all cases if there are no globs.

    A glob is matched against the whole name and is case-sensitive: ``*``, ``?`` and ``[…]`` as in `fnmatch`.
    Families, stages, operations and types in which no name can match are not listed.
    """
    if not filters:
        return all_cases()
    globs = Globs(filters)
    with paused():
        return tuple(_matching(globs.may_begin, globs.match, _entries(filters)))

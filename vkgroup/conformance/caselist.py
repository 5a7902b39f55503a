"""Lists of cases in files: our own names and globs, and names of Khronos' suite (VK-GL-CTS).

A name ``dEQP-VK.subgroups.GROUP.STAGE.TEST`` maps by rule to the globs of the cases that test the same
operation, type and stage, and more. What has no counterpart yet is said, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.cases import subgroup_cases
from vkgroup.conformance.families import all_cases, select
from vkgroup.conformance.family import AnyCase
from vkgroup.errors import InvalidInput
from vkgroup.reference.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.reference.types import TYPES

PREFIX = "dEQP-VK."


@dataclass(frozen=True)
class Mapping:
    """What a foreign name stands for.

    Attributes
    ----------
    name : the name in the list.
    globs : globs over our names; empty if there is no counterpart.
    reason : why there is none.
    """

    name: str
    globs: tuple[str, ...] = ()
    reason: str = ""


@dataclass
class CaseList:
    """A case list, read and mapped.

    Attributes
    ----------
    cases : our cases, each once, in the order of the suite.
    mapped, unmapped : the list's names that have a counterpart, and that have none.
    """

    cases: tuple[AnyCase, ...] = ()
    mapped: list[Mapping] = field(default_factory=list)
    unmapped: list[Mapping] = field(default_factory=list)

    def reasons(self) -> dict[str, int]:
        """Return how many names cannot be mapped for each reason, the most frequent first."""
        counts: dict[str, int] = {}
        for mapping in self.unmapped:
            counts[mapping.reason] = counts.get(mapping.reason, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))


_NAME = re.compile(r"dEQP-VK\.subgroups\.(?P<group>\w+)\.(?P<rest>[\w.]+)$")
_SIZED = re.compile(r"_requiredsubgroupsize(\d*)$")
_SUFFIXES = ("_constant", "_dynamically_uniform")
_OPERATIONS = {name.lower(): operation for name, operation in OPERATIONS.items()}
_SHAPES = ("clustered", "quad")
_FRAGMENT = "_fragment"


def _variable(test: str) -> str | None:
    """Return the built-in variable that a test of builtin_var or builtin_mask_var is about."""
    wanted = test.removesuffix("_compute")
    for name in BUILTIN_VARIABLES:
        if name.lower() == f"gl_{wanted}":
            return name
    return None


def _globs(base: str, tail: str, size: str | None) -> tuple[str, ...]:
    """Return the globs of a base name, an operand (or "") and a required size ("" for any, None for all)."""
    operand = f".{tail}" if tail else ""
    if size is None:
        return (f"{base}.*{operand}*",) if tail else (f"{base}.*",)
    return (f"{base}.*{operand}.size{size or '*'}",)


def _map_operation(name: str, stage: str, test: str, size: str | None) -> Mapping:
    """Map a test of one operation on one type."""
    tail = ""
    for suffix in _SUFFIXES:
        if test.endswith(suffix):
            test, tail = test.removesuffix(suffix), "dynamic" if "dynamic" in suffix else "by1"
    stem, _, type_name = test.partition("_")
    if type_name.startswith("nonconst_"):
        type_name, tail = type_name.removeprefix("nonconst_"), "dynamic"
    if type_name.startswith("vec8_"):
        return Mapping(name, reason="long vectors (more than four components)")
    if "rotate" in stem:
        return Mapping(name, reason="rotate operations")
    operation = _OPERATIONS.get(stem)
    if operation is None:
        return Mapping(name, reason=f"operation {stem}")
    base = f"{operation.category.value}.{stage}.{operation.name}"
    if operation.name in BARRIERS or type_name not in TYPES:
        return Mapping(name, _globs(base, tail, size))
    if TYPES[type_name] not in operation.types:
        # Khronos names the type of the data that a vote or ballot compares; ours name the operand's.
        return Mapping(name, _globs(base, tail, size))
    return Mapping(name, _globs(f"{base}.{type_name}", tail, size))


@cache
def map_name(name: str) -> Mapping:
    """Map one name of Khronos' suite to globs over our names."""
    match = _NAME.match(name)
    if match is None:
        return Mapping(name, reason="a group of Khronos' suite other than subgroups")
    group, rest = match["group"], match["rest"]
    if group == "partitioned":
        return Mapping(name, reason="partitioned operations")
    if rest.startswith("ext_shader_subgroup") or group == "ballot_mask":
        return Mapping(name, reason="the legacy EXT ballot and vote")
    place, _, test = rest.partition(".")
    if place == "frag_helper":
        # Votes with helper invocations among those who vote.
        mapping = _map_operation(name, "fragment", test.removesuffix(_FRAGMENT), None)
        globs = tuple(f"{glob}partial.*" for glob in mapping.globs)
        return Mapping(name, globs, mapping.reason)
    if place == "compute":
        return _map_test(name, group, "compute", test)
    if place == "graphics":
        # All graphics stages in one test; the fragment stage is the one that has cases here.
        return _map_test(name, group, "fragment", test)
    if place == "framebuffer" and test.endswith(_FRAGMENT):
        return _map_test(name, group, "fragment", test.removesuffix(_FRAGMENT))
    if place == "framebuffer" and test.startswith("fragment_"):
        return _map_test(name, group, "fragment", test.removeprefix("fragment_"))
    if place in ("framebuffer", "mesh", "ray_tracing"):
        return Mapping(name, reason=f"stages other than compute and fragment ({place})")
    return Mapping(name, reason=f"the group {group}")


def _map_test(name: str, group: str, stage: str, test: str) -> Mapping:
    """Map a test of a group in a stage."""
    size = None
    sized = _SIZED.search(test)
    if sized:
        test, size = test[: sized.start()], sized[1]
    if group == "shape":
        assert test in _SHAPES, test
        return Mapping(name, _globs(f"{test}.{stage}", "", size))
    if group == "ballot":
        return Mapping(name, _globs(f"ballot.{stage}.subgroupBallot", "", size))
    if group in ("builtin_var", "builtin_mask_var"):
        variable = _variable(test)
        assert variable is not None, test
        category = BUILTIN_VARIABLES[variable].category.value
        return Mapping(name, _globs(f"{category}.{stage}.{variable}", "", size))
    if group == "size_control":
        return _map_size_control(name, stage, test)
    return _map_operation(name, stage, test, size)


def _map_size_control(name: str, stage: str, test: str) -> Mapping:
    """Map the required sizes; varying sizes and full subgroups are pipeline flags without cases yet."""
    if test in ("required_subgroup_size_min", "required_subgroup_size_max"):
        operations = ("gl_SubgroupSize", "subgroupElect")
        return Mapping(name, tuple(f"basic.{stage}.{operation}.*.size*" for operation in operations))
    return Mapping(name, reason="varying subgroup size and full subgroups")


def read_caselist(path: Path) -> CaseList:
    """Read a file of case names, one a line: ours, globs over ours, or names of Khronos' suite.

    Empty lines and lines that begin with ``#`` are skipped.

    Raises
    ------
    InvalidInput
        The file cannot be read, is empty, or one of our own names or globs matches nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the case list {path}: {error}") from error
    names = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not names:
        raise InvalidInput(f"the case list {path} names no case")
    return map_names(names)


def map_names(names: Iterable[str]) -> CaseList:
    """Map names of either kind; see `read_caselist`."""
    found = CaseList()
    chosen: set[str] = set()
    for name in dict.fromkeys(names):
        mapping = map_name(name) if name.startswith(PREFIX) else Mapping(name, (name,))
        matches = _matches(mapping.globs) if mapping.globs else ()
        if matches:
            chosen.update(matches)
            found.mapped.append(mapping)
        elif not name.startswith(PREFIX):
            raise InvalidInput(f"no case matches {name!r}: list the names with vkgroup conform --list")
        else:
            reason = mapping.reason or "an operation on a type that the specification does not have"
            found.unmapped.append(Mapping(name, reason=reason))
    found.cases = tuple(case for case in all_cases() if case.name in chosen)
    return found


@cache
def _by_prefix() -> dict[str, tuple[str, ...]]:
    """Index the names by ``category.stage.operation`` and by that with the type."""
    index: dict[str, list[str]] = {}
    for case in subgroup_cases():
        stem = f"{case.category}.{case.stage}.{case.operation}"
        for key in (stem, f"{stem}.{case.type}"):
            index.setdefault(key, []).append(case.name)
    return {key: tuple(value) for key, value in index.items()}


@cache
def _matches(globs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that match; looks only at names that share the globs' literal beginning."""
    found: list[str] = []
    for glob in globs:
        pattern = re.compile(translate(glob))
        literal = glob.split("*", 1)[0].rstrip(".")
        pool = _by_prefix().get(literal)
        if pool is None:
            found.extend(case.name for case in select((glob,)))
        else:
            found.extend(name for name in pool if pattern.match(name))
    return tuple(found)

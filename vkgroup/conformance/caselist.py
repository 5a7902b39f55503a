"""Lists of cases in files: our own names and globs, and names of Khronos' suite (VK-GL-CTS)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from vkgroup.conformance.families import all_cases
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.khronos import PREFIX, Mapping, map_name
from vkgroup.errors import InvalidInput


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


def read_caselist(path: Path) -> CaseList:
    """Read a file of case names, one a line: ours, globs over ours, or names of Khronos' suite.

    Empty lines and lines that begin with ``#`` are skipped.

    Raises
    ------
    InvalidInput
        The file cannot be read, is empty, or one of our own names or globs matches nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
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
        met = matches(mapping.globs)
        if met:
            chosen.update(met)
            found.mapped.append(mapping)
        elif not name.startswith(PREFIX):
            raise InvalidInput(f"no case matches {name!r}: list the names with vkgroup conform --list")
        else:
            reason = mapping.reason or "no case of that operation, type and size"
            found.unmapped.append(Mapping(name, reason=reason))
    found.cases = tuple(case for case in all_cases() if case.name in chosen)
    return found


_DEPTH = 4
"""Parts of a name by which names are looked up: ``category.stage.operation.type``."""


@cache
def _by_prefix() -> dict[str, list[tuple[str, str]]]:
    """Index the names by their first parts, up to `_DEPTH` of them: (what follows these, name)."""
    index: dict[str, list[tuple[str, str]]] = {"": []}
    for case in all_cases():
        name = case.name
        index[""].append((name, name))
        at = -1
        for _ in range(_DEPTH):
            at = name.find(".", at + 1)
            if at < 0:
                # Longer names may begin with a whole short one.
                index.setdefault(name, []).append(("", name))
                break
            index.setdefault(name[:at], []).append((name[at:], name))
    return index


_compiled = cache(lambda glob: re.compile(translate(glob)).match)


@cache
def matches(globs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that match; looks only at names that share the globs' literal beginning."""
    found: list[str] = []
    for glob in globs:
        literal = _beginning(glob)
        match = _compiled(glob[len(literal) :])
        found.extend(name for rest, name in _by_prefix().get(literal, ()) if match(rest))
    return tuple(found)


def _beginning(glob: str) -> str:
    """Return the parts of a glob before the first wildcard, up to `_DEPTH` of them and not the last."""
    parts = glob.split(".")[:-1][:_DEPTH]
    wild = (place for place, part in enumerate(parts) if any(character in part for character in "*?["))
    return ".".join(parts[: next(wild, len(parts))])

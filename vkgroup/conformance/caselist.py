"""Case lists: names and globs of vkgroup, and names of the Khronos suite (VK-GL-CTS) mapped to cases.

The lists of all Khronos names on subgroups and reconvergence are those of July 2026, in the folder
``khronos_lists``; those on the memory model and helper invocations follow a rule. For a name, ``--caselist``
may run more cases than a baseline excuses or a skip leaves out (`answering`). The latter exclude cases with a
required size if the name has none, and the group ``shape``, whose names map to every case with clusters or
quads.

Regular expressions in files have RE2's syntax: close to Rust's (deqp-runner), without endless searches.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Any

import re2

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_text
from vkgroup.conformance.families import cases_named, select_names, similar_names
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.khronos import PREFIX, Mapping, map_name
from vkgroup.conformance.khronos_groups import generated_names

PROMISES = "device.minimum_promises"
"""The name in expectation files for missing required minimums (`Capabilities.minimum_promises`)."""

LONGEST = 100_000
"""Maximum number of characters of an expression."""

_SET_SIZE = 100
"""Number of expressions in a set: in RE2 a hundred are nearly as fast as one, and thousands are slow."""

_MEMORY = 256 << 20
"""Maximum number of bytes that RE2 may use for a set."""

_EVERYWHERE = ""
"""An expression that matches every text. If it does not match, RE2 has run out of memory."""

_CLASS = re.compile(r"\\.|\[\^?\]?(?P<inside>(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]", re.DOTALL)
"""An escape, or a class with its content, except for a leading bracket."""

_OF_RUST = re.compile(r"\\.|\[:\^?\w+:\]|(?P<operator>\[|&&|--|~~)", re.DOTALL)
"""Operators in Rust's classes, which are plain characters in RE2's."""


class TooLarge(InvalidInput):
    """RE2 does not have enough memory for all expressions together."""


def problem(text: str) -> str | None:
    """Return why a text is not a regular expression with the same meaning in deqp-runner; None if it is."""
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, and may have {LONGEST}"
    for inside in (match["inside"] or "" for match in _CLASS.finditer(text)):
        for operator in filter(None, (match["operator"] for match in _OF_RUST.finditer(inside))):
            escaped = re.sub(r"(.)", r"\\\1", operator)
            return f"{operator} in a class is an operator in Rust and not in RE2: write {escaped}"
    try:
        re2.compile(text, _options())
    except re2.error as error:
        reason = error.args[0]
        message: str = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return message if len(message) <= 80 else message[:79] + "…"
    return None


class CaseExpressions:
    """Valid expressions that are searched for together; TooLarge if RE2 does not accept them."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._count = len(texts)
        self._sets = [_compile_all(texts[at : at + _SET_SIZE]) for at in range(0, len(texts), _SET_SIZE)]

    def __len__(self) -> int:
        return self._count

    def which(self, text: str) -> Iterator[int]:
        """Yield the indices of the expressions that match in a text; TooLarge if RE2 has no memory left."""
        for number, together in enumerate(self._sets):
            first = number * _SET_SIZE
            everywhere = min(_SET_SIZE, self._count - first)
            matching = _asked(together.Match, text) or ()
            if everywhere not in matching:
                raise TooLarge("not enough memory for the regular expressions: use fewer")
            yield from (first + index for index in sorted(matching) if index != everywhere)


def _compile_all(texts: Sequence[str]) -> Any:
    together = re2.Set.SearchSet(_options())
    try:
        for text in (*texts, _EVERYWHERE):
            _asked(together.Add, text)
        _asked(together.Compile)
    except re2.error as error:
        raise TooLarge("the regular expressions are too large together: use fewer or shorter ones") from error
    return together


def _asked(call: Any, *arguments: str) -> Any:
    """Call RE2; raise TooLarge if C++ runs out of memory."""
    try:
        return call(*arguments)
    except MemoryError as error:
        raise TooLarge("not enough memory for the regular expressions: use fewer") from error


def _options() -> Any:
    """Return the options for RE2."""
    options = re2.Options()
    options.log_errors = False  # RE2 must not write to the command's standard error
    options.max_mem = _MEMORY
    return options


@dataclass
class CaseList:
    """A case list, read and mapped."""

    cases: tuple[AnyCase, ...] = ()  # the cases, each once, in the order of the suite
    #: `mapped`, `unmapped`: the list's names with a counterpart, and those without.
    mapped: list[Mapping] = field(default_factory=list)
    unmapped: list[Mapping] = field(default_factory=list)

    def reasons(self) -> dict[str, int]:
        """Return the number of names that cannot be mapped for each reason, the most frequent first."""
        counts: dict[str, int] = {}
        for mapping in self.unmapped:
            counts[mapping.reason] = counts.get(mapping.reason, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))


def read_caselist(path: Path) -> CaseList:
    """Read a file of case names, one per line: vkgroup's names, globs over them, or Khronos names.

    What follows a comma is ignored, so ``failures.csv`` and ``results.csv`` of a run are case lists, too.
    Empty lines and lines that begin with ``#`` are skipped. Raise InvalidInput if the file cannot be read, is
    empty, or one of vkgroup's names or globs matches nothing; the message has the line and the nearest name.
    """
    try:
        lines = read_text(path, "utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidInput(f"cannot read the case list {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read the case list {path}: {error}") from error
    places: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name = line.partition(",")[0].strip()
        if name not in ("", PROMISES) and not name.startswith("#"):
            places.setdefault(name, f"{path}:{number}: ")
    if not places:
        raise InvalidInput(f"the case list {path} names no case")
    return map_names(places, places)


def map_names(names: Iterable[str], places: dict[str, str] | None = None) -> CaseList:
    """Map names of either kind; see `read_caselist`. `places`: the beginnings of their errors."""
    caselist = CaseList()
    # The index of all names, which is large, is only for Khronos' names.
    names, places = tuple(dict.fromkeys(names)), places or {}
    chosen = set(cases_named([name for name in names if not name.startswith(PREFIX)]))
    for name in names:
        mapping = map_name(name) if name.startswith(PREFIX) else Mapping(name, (name,))
        matching: Collection[str] = (name,) if name in chosen else ()
        if not matching:
            matching = matches(mapping.globs) if name.startswith(PREFIX) else set(select_names((name,)))
        if matching:
            chosen.update(matching)
            caselist.mapped.append(mapping)
        elif not name.startswith(PREFIX):
            near = "".join(f" Did you mean {other!r}?" for other in similar_names(name, 1))
            place = places.get(name, "")
            raise InvalidInput(f"{place}no case matches {name!r}.{near} `vkgroup conform --list` lists them.")
        else:
            caselist.unmapped.append(Mapping(name, reason=mapping.reason or _NO_CASE))
    caselist.cases = tuple(cases_named(chosen).values())
    return caselist


def names_for(pattern: str) -> tuple[str, ...]:
    """Return the names of the cases for a Khronos name, or for a glob over the listed ones.

    Raise InvalidInput if there is none; the message has the reason.
    """
    names: Iterable[str] = (pattern,)
    if not _WILD.isdisjoint(pattern):
        names = tuple(filter(re.compile(translate(pattern)).match, listed()))
        if not names:
            raise InvalidInput(
                f"{pattern!r} matches none of the {len(listed()):,} listed names of Khronos' suite. "
                "--caselist F maps other names by rule."
            )
    mapped = [map_name(name) for name in names]
    cases = tuple(dict.fromkeys(case for mapping in mapped for case in matches(mapping.globs)))
    if not cases:
        raise InvalidInput(f"no case corresponds to {pattern!r}: {mapped[0].reason or _NO_CASE}")
    return cases


_NO_CASE = "no case of that operation, type and size"
_DEPTH = 4
"""Leading parts of a name that the index uses: ``category.stage.operation.type``."""


@cache
def _by_prefix() -> dict[str, list[tuple[str, str]]]:
    """Return the names by their first parts, up to `_DEPTH`, as (rest of the name, name)."""
    index: dict[str, list[tuple[str, str]]] = {"": []}
    for name in select_names():
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


_WILD = frozenset("*?[")
_compiled = cache(lambda glob: re.compile(translate(glob)).match)


@cache
def matches(globs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that match; tests only names with the same literal prefix as the globs."""
    names: list[str] = []
    for glob in globs:
        literal = _beginning(glob)
        tail, entries = glob[len(literal) :], _by_prefix().get(literal, ())
        if _WILD.isdisjoint(tail):
            names.extend(name for rest, name in entries if rest == tail)
        else:
            match = _compiled(tail)
            names.extend(name for rest, name in entries if match(rest))
    return tuple(names)


def _beginning(glob: str) -> str:
    """Return the parts of a glob before the first wildcard, up to `_DEPTH` of them and not the last."""
    parts = glob.split(".")[:-1][:_DEPTH]
    wild = (index for index, part in enumerate(parts) if not _WILD.isdisjoint(part))
    return ".".join(parts[: next(wild, len(parts))])


_LISTS = Path(__file__).parent / "khronos_lists"
_SIZED = re.compile(r"\.size[0-9]+(\.|$)")
_WIDE = PREFIX + "subgroups.shape."


@cache
def listed() -> tuple[str, ...]:
    """Return the names of the lists, subgroups first, and those that are generated by rule."""
    names: list[str] = []
    for suite in ("subgroups", "reconvergence"):
        names += lzma.decompress((_LISTS / f"{suite}.txt.xz").read_bytes()).decode().split()
    names += (f"{PREFIX}{name}" for name in generated_names())
    return tuple(names)


_listed_names = cache(lambda: frozenset(listed()))


def answering(name: str) -> tuple[str, ...]:
    """Return the names of the cases that correspond to a listed Khronos name; empty for any other name."""
    if name not in _listed_names() or name.startswith(_WIDE):
        return ()
    cases = matches(map_name(name).globs)
    if "requiredsubgroupsize" in name:
        return cases
    return tuple(case for case in cases if not _SIZED.search(case))


def listed_names_of(case: str) -> list[str]:
    """Return the listed Khronos names that correspond to a case: those with it in `answering`."""
    sized = _SIZED.search(case)
    return [
        name
        for name in listed()
        if not name.startswith(_WIDE) and (not sized or "requiredsubgroupsize" in name)
        if any(case.startswith(_beginning(glob)) and _compiled(glob)(case) for glob in map_name(name).globs)
    ]


def found_by(expressions: CaseExpressions) -> tuple[frozenset[str], frozenset[int]]:
    """Return the names of the selected cases, and the indices of the expressions that select any."""
    cases: set[str] = set()
    useful: set[int] = set()
    for name in listed():
        matching = set(expressions.which(name))
        if matching and (answers := answering(name)):
            cases.update(answers)
            useful |= matching
    return frozenset(cases), frozenset(useful)

"""All names of Khronos' suite (VK-GL-CTS) on subgroups and reconvergence, and the cases that answer to them.

The lists are those of July 2026, in the folder ``khronos_lists``. What answers is less than what
``--caselist`` runs for a name (`vkgroup.conformance.caselist`), for it is left out, or may fail. A name
without a required size has no cases with one; those of the group ``shape`` have none, for every case with
clusters or quads would answer to them.
"""

from __future__ import annotations

import lzma
import re
from functools import cache
from pathlib import Path

from vkgroup.conformance.caselist import matches
from vkgroup.conformance.expressions import Expressions
from vkgroup.conformance.khronos import PREFIX, map_name

_LISTS = Path(__file__).parent / "khronos_lists"
_SIZED = re.compile(r"\.size[0-9]+(\.|$)")
_WIDE = PREFIX + "subgroups.shape."


@cache
def listed() -> tuple[str, ...]:
    """Return the names of the lists, subgroups first."""
    names: list[str] = []
    for suite in ("subgroups", "reconvergence"):
        names += lzma.decompress((_LISTS / f"{suite}.txt.xz").read_bytes()).decode().split()
    return tuple(names)


@cache
def _names() -> frozenset[str]:
    return frozenset(listed())


def answering(name: str) -> tuple[str, ...]:
    """Return the names of the cases that test what one of the listed names does; none for any other name."""
    if name not in _names() or name.startswith(_WIDE):
        return ()
    found = matches(map_name(name).globs)
    if "requiredsubgroupsize" in name:
        return found
    return tuple(case for case in found if not _SIZED.search(case))


def found_by(expressions: Expressions) -> tuple[frozenset[str], frozenset[int]]:
    """Return the cases that answer to a listed name in which any expression is found.

    Returns
    -------
    Their names, and the indices of the expressions that found some.
    """
    cases: set[str] = set()
    useful: set[int] = set()
    for name in listed():
        found = set(expressions.which(name))
        if found and (answers := answering(name)):
            cases.update(answers)
            useful |= found
    return frozenset(cases), frozenset(useful)

"""All names of Khronos' suite (VK-GL-CTS) on subgroups and reconvergence, and the cases that answer to them.

The lists are those of July 2026, in the folder ``khronos_lists``. A name that came later maps by the same
rule (`vkgroup.conformance.khronos`); only expressions are not looked for in it.
"""

from __future__ import annotations

import lzma
import re
from functools import cache
from pathlib import Path

from vkgroup.conformance.caselist import matches
from vkgroup.conformance.khronos import map_name

_LISTS = Path(__file__).parent / "khronos_lists"


@cache
def listed() -> tuple[str, ...]:
    """Return the names of the lists, subgroups first."""
    names: list[str] = []
    for suite in ("subgroups", "reconvergence"):
        names += lzma.decompress((_LISTS / f"{suite}.txt.xz").read_bytes()).decode().split()
    return tuple(names)


def answering(name: str) -> tuple[str, ...]:
    """Return the names of the cases that test what one of Khronos' names does; none if no case does."""
    return matches(map_name(name).globs)


def found_by(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the names of the cases that answer to any listed name in which an expression is found."""
    globs = dict.fromkeys(map_name(name).globs for name in listed() if pattern.search(name))
    return frozenset(case for some in globs for case in matches(some))

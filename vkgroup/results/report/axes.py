"""The axes of a case, read from its name: category, stage, operation and type.

A name tells it in every version of the suite, so that a report needs no list of the cases to read old runs.
"""

from __future__ import annotations

from functools import cache

from vkgroup.conformance.cases import STAGES
from vkgroup.spec.types import LONG_TYPES, TYPES

HEAD = 4
"""Parts of a name that tell the axes."""

NONE = "–"
"""A stage or type that a name does not have."""

_HLSL_SCALARS = (
    "bool",
    "int",
    "uint",
    "float",
    "half",
    "double",
    "int16_t",
    "uint16_t",
    "int64_t",
    "uint64_t",
)
_HLSL = frozenset(f"{scalar}{count}" for scalar in _HLSL_SCALARS for count in ("", "2", "3", "4"))


@cache
def axes_of(head: str) -> tuple[str, str, str, str]:
    """Return category, stage, operation and type of the cases whose names begin with `head`.

    Parameters
    ----------
    head : the first four parts of a name, or all where it has fewer.
    """
    category, *others = head.split(".")
    stage = next((part for part in others if part in STAGES), NONE)
    rest = [part for part in others if part != stage]
    type_ = next((part for part in rest[1:] if part in TYPES or part in LONG_TYPES or part in _HLSL), NONE)
    return category, stage, rest[0] if rest else category, type_


def split(name: str) -> tuple[str, str]:
    """Return a name's head, whose axes are known, and its tail."""
    parts = name.split(".")
    return ".".join(parts[:HEAD]), ".".join(parts[HEAD:])

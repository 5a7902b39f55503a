"""Rows of the table of vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class VectorRow:
    """Types of results, types of sources, and the function of an instruction."""

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Function
    with_mode: bool = False
    accumulates: bool = False  # the result's register is a source, which the text does not repeat
    packed: bool = False

    @property
    def is_float(self) -> bool:
        """Whether the first result is a float, with the modifiers of floats."""
        return self.results[0][0] == "f"


TABLE: dict[str, VectorRow] = {}
"""The vector instructions by name; see `vkgroup.amd.vector_table`."""


def add_row(name: str, types: str, function: Function, **more: bool) -> None:
    """Add an instruction; `types` are results, an equals sign and sources: ``u32 m=u32 u32``."""
    results, _, sources = types.partition("=")
    TABLE[name] = VectorRow(tuple(results.split()), tuple(sources.split()), function, **more)


def in_turn(function: Function) -> Function:
    """Return the function of three sources that applies one of two sources twice."""
    return lambda a, b, c: function(function(a, b), c)

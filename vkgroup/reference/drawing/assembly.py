"""Primitive assembly: the vertices of each primitive (Vulkan 1.4, "Primitive Topologies").

The first vertex of each is the provoking vertex: fragments get its flat outputs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.errors import Unsupported

Integers = npt.NDArray[np.int64]


def _list(count: int, each: int) -> Integers:
    whole = count // each * each
    return np.arange(whole, dtype=np.int64).reshape(-1, each)


def _line_strip(count: int) -> Integers:
    first = np.arange(max(count - 1, 0), dtype=np.int64)
    return np.stack([first, first + 1], axis=1)


def _triangle_strip(count: int) -> Integers:
    first = np.arange(max(count - 2, 0), dtype=np.int64)
    odd = first % 2
    return np.stack([first, first + 1 + odd, first + 2 - odd], axis=1)


def _triangle_fan(count: int) -> Integers:
    first = np.arange(max(count - 2, 0), dtype=np.int64)
    return np.stack([first + 1, first + 2, np.zeros_like(first)], axis=1)


_TOPOLOGIES = {
    "points": lambda count: _list(count, 1),
    "lines": lambda count: _list(count, 2),
    "line_strip": _line_strip,
    "triangles": lambda count: _list(count, 3),
    "triangle_strip": _triangle_strip,
    "triangle_fan": _triangle_fan,
}


def assemble(topology: str, count: int) -> Integers:
    """Return the vertices of each primitive, counted in the order of drawing: (primitives, 1, 2 or 3).

    Raises
    ------
    Unsupported
        The topology is not supported.
    """
    if topology not in _TOPOLOGIES:
        raise Unsupported(f"The reference device does not draw {topology!r}.", [topology])
    return _TOPOLOGIES[topology](count)

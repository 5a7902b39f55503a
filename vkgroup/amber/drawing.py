"""Vertices of the draws of an Amber script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.expectations import Contents
from vkgroup.base.errors import InvalidInput
from vkgroup.dispatch.vertices import at_each_location
from vkgroup.spirv import StageVariable

Array = npt.NDArray[Any]

_CORNERS = np.array([(0, 1), (0, 0), (1, 1), (1, 0)], np.float32)
"""The corners of a rectangle as a strip, in the order of Amber."""

_CELL = np.array([(1, 1), (0, 1), (0, 0), (1, 1), (0, 0), (1, 0)], np.float32)
"""The corners of the two triangles of a cell, in the order of Amber."""


def _in_clip_space(given: Mapping[str, Any], size: tuple[int, int]) -> tuple[Array, Array]:
    """Return the position and the size of a rectangle in clip coordinates, as float32."""
    frame = np.array(size, np.float32)
    numbers = np.array(given["rectangle"], np.float32)
    return numbers[:2] / frame * np.float32(2) - np.float32(1), numbers[2:] / frame * np.float32(2)


def rectangle(given: Mapping[str, Any], size: tuple[int, int]) -> Array:
    """Return the four vertices of ``DRAW_RECT``, (4, 2)."""
    position, extent = _in_clip_space(given, size)
    return position + _CORNERS * extent


def grid(given: Mapping[str, Any], size: tuple[int, int]) -> Array:
    """Return the vertices of ``DRAW_GRID``, six for each cell, (n, 2)."""
    position, extent = _in_clip_space(given, size)
    columns, rows = given["cells"]
    cell = extent / np.array((columns, rows), np.float32)
    cells = np.array([(j, i) for i in range(rows) for j in range(columns)], np.float32)
    return (position + cell * (cells[:, None] + _CELL[None])).reshape(-1, 2)


def vertex_arrays(contents: Mapping[int, Contents], inputs: Iterable[StageVariable]) -> dict[int, Array]:
    """Return the array of each input of a vertex shader, in the type that the shader reads."""
    arrays = {}
    for item in (part for one in inputs for part in at_each_location(one)):
        if item.location not in contents:
            raise InvalidInput(f"VERTEX_DATA is missing for the input {item.name or item.location!r}.")
        held = contents[item.location]
        colors = held.type.colors(held.data)
        wanted = {"float": np.float32, "int": np.int32, "uint": np.uint32}
        kind = item.scalar.kind if item.scalar is not None else "float"
        arrays[item.location] = np.ascontiguousarray(colors, wanted.get(kind, np.float32))
    return arrays

"""Sample locations, and coverage: the samples inside a convex polygon, exact, in quads of 2x2 pixels.

A sample on an edge is covered if the edge is a top or a left edge. So exactly one of two polygons with a
common edge covers it (Vulkan 1.4, "Basic Polygon Rasterization").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference.drawing.shapes import SUBPIXELS

Integers = npt.NDArray[np.int64]

_AT_ONCE = 1 << 19
"""Pixels that are tested together."""


class Quads(NamedTuple):
    """Quads of pixels, row by row."""

    #: `x`, `y`: of the upper left pixel, both even, (quads,).
    x: Integers
    y: Integers
    #: The covered samples of the pixels (x, y), (x+1, y), (x, y+1), (x+1, y+1), a bit each: (quads, 4).
    masks: npt.NDArray[np.uint32]


def covered_quads(
    polygon: Integers, size: tuple[int, int], locations: npt.NDArray[np.float64]
) -> Iterator[Quads]:
    """Yield the quads in which a polygon covers at least one sample.

    `polygon`: its corners in `SUBPIXELS` of a pixel, (corners, 2), in either direction.
    `size`: of the image in pixels. Pixels outside of it, in quads on its edge, are never covered.
    `locations`: of the samples in a pixel, (samples, 2).
    """
    edges = _edges(polygon)
    low, high = polygon.min(axis=0) // SUBPIXELS, polygon.max(axis=0) // SUBPIXELS
    left, top = (max(int(value), 0) // 2 * 2 for value in low)
    right, bottom = (min(int(value) + 1, most) for value, most in zip(high, size, strict=True))
    if right <= left or bottom <= top or not edges:
        return
    columns = np.arange(left, right + right % 2)
    step = max(2, _AT_ONCE // len(columns) // 2 * 2)
    for first in range(top, bottom, step):
        last = min(first + step, bottom)
        rows = np.arange(first, last + last % 2)
        masks = _masks(edges, columns, rows, np.rint(locations * SUBPIXELS).astype(np.int64))
        masks[rows >= size[1]] = 0
        masks[:, columns >= size[0]] = 0
        blocks = masks.reshape(len(rows) // 2, 2, len(columns) // 2, 2).transpose(0, 2, 1, 3)
        flat = blocks.reshape(-1, 4)
        covered = np.flatnonzero(flat.any(axis=1))
        across = len(columns) // 2
        yield Quads(left + covered % across * 2, first + covered // across * 2, flat[covered])


_Edge = tuple[int, int, int, int, int]


def _edges(polygon: Integers) -> list[_Edge]:
    """Return start and direction of each edge, and 0 where samples on it are covered, else -1."""
    x, y = polygon.T
    area = int((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    corners = polygon.tolist() if area > 0 else polygon[::-1].tolist()
    if area == 0:
        return []
    edges = []
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        across, down = end[0] - start[0], end[1] - start[1]
        if across == 0 and down == 0:
            continue
        # Corners are clockwise on the screen: a left edge goes up, a top edge goes right.
        owns = down < 0 or (down == 0 and across > 0)
        edges.append((start[0], start[1], across, down, 0 if owns else -1))
    return edges


def _masks(
    edges: list[_Edge], columns: Integers, rows: Integers, locations: Integers
) -> npt.NDArray[np.uint32]:
    """Return the covered samples of each pixel, (rows, columns)."""
    masks = np.zeros((len(rows), len(columns)), np.uint32)
    for bit, (along_x, along_y) in enumerate(locations):
        inside = np.ones(masks.shape, np.bool_)
        x, y = columns * SUBPIXELS + along_x, rows * SUBPIXELS + along_y
        for start_x, start_y, across, down, added in edges:
            inside &= (across * (y - start_y))[:, None] - down * (x - start_x) + added >= 0
        masks |= inside.astype(np.uint32) << np.uint32(bit)
    return masks


_SIXTEENTHS = {
    1: ((8, 8),),
    2: ((12, 12), (4, 4)),
    4: ((6, 2), (14, 6), (2, 10), (10, 14)),
    8: ((9, 5), (7, 11), (13, 9), (5, 3), (3, 13), (1, 7), (11, 15), (15, 1)),
}

COUNTS = tuple(_SIXTEENTHS)
"""Numbers of samples that the reference device has."""


def sample_locations(samples: int) -> npt.NDArray[np.float64]:
    """Return x and y of each sample from the pixel's upper left corner, in pixels: (samples, 2).

    Raises
    ------
    Unsupported
        for another number than 1, 2, 4 and 8.
    """
    if samples not in _SIXTEENTHS:
        raise Unsupported(
            f"The reference device draws with 1, 2, 4 or 8 samples; {samples} were requested.",
            [f"framebufferColorSampleCounts with {samples}"],
        )
    return np.array(_SIXTEENTHS[samples], np.float64) / 16

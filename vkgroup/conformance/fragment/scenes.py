"""Scenes of the fragment cases: triangles, and the pixels that they must cover.

Coordinates are in pixels, y down, in sixteenths, which every device represents exactly (Vulkan 1.4,
Required Limits, subPixelPrecisionBits is at least 4). Coverage is computed exactly from the edges. Edges
avoid the centres of pixels, except in scenes of shared edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Flags, Indices

Point = tuple[float, float]
Triangle = tuple[Point, Point, Point]

SIDE = 32
"""Pixels of a target in each direction, a power of two: clip coordinates of sixteenths are exact."""

GRID = SIDE + 2
"""Pixels in a row of the record, with room for helper invocations beyond the target."""


@dataclass(frozen=True)
class TriangleScene:
    """Triangles to draw, and how they are shaded."""

    name: str  # its part of a case name
    sentence: str  # what is drawn, to complete "in …"
    #: Corners in pixels; empty for the one triangle of `Device.draw` that covers everything.
    triangles: tuple[Triangle, ...] = ()
    size: int = SIDE  # pixels in x and y
    #: Whether each triangle has a separate record, because they may overlap; else all share one.
    layered: bool = False
    #: The triangles fill the target, and edges that two share go through centres of pixels.
    shared_edges: bool = False
    samples: int = 1  # of a pixel
    sample_shading: bool = False  # whether each sample is shaded separately and has a separate record
    leaves: str = ""  # how some fragments leave on the way, a key of `vkgroup.conformance.patterns.LEAVES`
    draws: int = 1  # number of draws

    @property
    def layers(self) -> int:
        """Number of records per pixel."""
        if self.sample_shading:
            return self.samples
        return len(self.triangles) if self.layered else 1

    @property
    def layer(self) -> str:
        """GLSL of the record that a fragment belongs to."""
        return "uint(gl_SampleID)" if self.sample_shading else "id" if self.layered else "0u"

    def vertices(self) -> dict[str | int, NDArray[Any]]:
        """Return the vertices' positions in clip coordinates, and `id`, the number of their triangle."""
        if not self.triangles:
            return {"id": np.zeros(3, np.uint32)}
        corners = np.array(self.triangles, np.float32).reshape(-1, 2)
        ids = np.repeat(np.arange(len(self.triangles), dtype=np.uint32), 3)
        return {"position": corners * np.float32(2 / self.size) - np.float32(1), "id": ids}

    @cached_property
    def covered(self) -> Flags:
        """The pixels of the record that each layer covers, (layers, GRID, GRID)."""
        covered = np.zeros((self.layers, GRID, GRID), np.bool_)
        inside = covered[:, : self.size, : self.size]
        if not self.triangles or self.shared_edges:
            inside[:] = True
            return covered
        for number, triangle in enumerate(self.triangles):
            inside[number if self.layered else 0] |= _covers(triangle, self.size)
        return covered

    @cached_property
    def gone(self) -> Flags:
        """The pixels whose fragments leave before the end, (GRID, GRID)."""
        y, x = np.indices((GRID, GRID))
        return leaves_at(x, y) & bool(self.leaves)


GONE = "(x * 7u + y * 3u + x * y) % 5u == 0u"
"""GLSL of the fragments that leave; `leaves_at` is the same in NumPy."""


def leaves_at(x: Indices, y: Indices) -> Flags:
    """Return whether the fragments of pixels leave."""
    return np.asarray((x * 7 + y * 3 + x * y) % 5 == 0)


def sides(triangle: Triangle, size: int) -> list[Indices]:
    """Return the side of each edge on which the pixels' centres lie: three (size, size), positive inside."""
    corners = [(round(16 * x), round(16 * y)) for x, y in triangle]
    y, x = np.indices((size, size)) * 16 + 8
    values = [
        np.asarray((bx - ax) * (y - ay) - (by - ay) * (x - ax))
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True)
    ]
    (ax, ay), (bx, by), (cx, cy) = corners
    clockwise = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0
    return values if clockwise else [-value for value in values]


def _covers(triangle: Triangle, size: int) -> Flags:
    """Return the pixels whose centres lie inside, (size, size)."""
    first, second, third = sides(triangle, size)
    return np.asarray((first > 0) & (second > 0) & (third > 0))


def _dots() -> tuple[Triangle, ...]:
    """One-pixel triangles, four pixels apart, in each of the four places of a quad."""
    triangles = []
    for i, j in np.ndindex(SIDE // 4, SIDE // 4):
        place = (i + j) % 4
        x, y = 4 * i + (place & 1) + 0.5, 4 * j + (place >> 1) + 0.5
        triangles.append(((x - 0.375, y - 0.3125), (x + 0.375, y - 0.3125), (x, y + 0.375)))
    return tuple(triangles)


def _square(x0: float, y0: float, x1: float, y1: float, *, rising: bool = False) -> tuple[Triangle, ...]:
    """Two triangles that share a diagonal."""
    a, b, c, d = (x0, y0), (x1, y0), (x1, y1), (x0, y1)
    return ((a, b, d), (b, c, d)) if rising else ((a, b, c), (a, c, d))


def _fan(x: float, y: float) -> tuple[Triangle, ...]:
    """Eight triangles around a point, to the corners and the middles of the target's sides."""
    half = SIDE / 2
    ring = [(0, 0), (half, 0), (SIDE, 0), (SIDE, half), (SIDE, SIDE), (half, SIDE), (0, SIDE), (0, half)]
    return tuple(((x, y), a, b) for a, b in zip(ring, ring[1:] + ring[:1], strict=True))


def _mesh() -> tuple[Triangle, ...]:
    """A net of 4 × 4 crooked squares, two triangles each."""
    steps = 4
    offsets = np.random.default_rng(7).integers(-40, 41, (steps + 1, steps + 1, 2)) / 16
    offsets[[0, -1], :, 1] = 0
    offsets[:, [0, -1], 0] = 0
    node = offsets + np.indices((steps + 1, steps + 1))[::-1].transpose(1, 2, 0) * (SIDE / steps)
    triangles: list[Triangle] = []
    for j, i in np.ndindex(steps, steps):
        a, b, c, d = (tuple(node[j + v, i + u].tolist()) for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)))
        triangles += [(a, b, c), (a, c, d)]
    return tuple(triangles)


_SLANTED: Triangle = ((2.0625, 1.125), (29.3125, 9.4375), (7.1875, 30.6875))

_STRIPS = (
    ((0.0, 0.0625), (31.9375, 5.125), (0.0625, 13.1875)),
    ((0.0625, 13.1875), (31.9375, 5.125), (30.0625, 19.3125)),
    ((0.0625, 13.1875), (30.0625, 19.3125), (5.1875, 31.0625)),
    ((5.1875, 31.0625), (30.0625, 19.3125), (31.3125, 31.8125)),
)

_OVERLAPPING = (
    _SLANTED,
    ((31.0625, 2.1875), (30.9375, 29.0625), (1.4375, 16.3125)),
    ((16.1875, 0.3125), (28.4375, 31.0625), (3.0625, 27.9375)),
)

_FULL = "a triangle that covers everything"

_TABLE = (
    TriangleScene("whole", _FULL),
    TriangleScene("odd", "a target of odd width and height", size=SIDE - 1),
    TriangleScene("triangle", "a slanted triangle", (_SLANTED,)),
    TriangleScene("dots", "triangles that cover one pixel each", _dots()),
    TriangleScene("strip", "triangles that share edges", _STRIPS, layered=True),
    TriangleScene("overlap", "triangles that lie on each other", _OVERLAPPING, layered=True),
    TriangleScene("samples", "four samples a pixel, each shaded", samples=4, sample_shading=True),
    TriangleScene("multisampled", "four samples a pixel, shaded at once", samples=4),
    TriangleScene(
        "discard", "a triangle some of whose fragments are discarded", (_SLANTED,), leaves="discard"
    ),
    TriangleScene("demote", "a triangle some of whose fragments are demoted", (_SLANTED,), leaves="demote"),
    TriangleScene(
        "terminate", "a triangle some of whose fragments are terminated", (_SLANTED,), leaves="terminate"
    ),
    TriangleScene("diagonal", "a square of two triangles", _square(0, 0, SIDE, SIDE), shared_edges=True),
    TriangleScene(
        "antidiagonal", "a square cut the other way", _square(0, 0, SIDE, SIDE, rising=True),
        shared_edges=True,
    ),
    TriangleScene(
        "columns", "two squares that meet in the middle of a column",
        _square(0, 0, 12.5, SIDE) + _square(12.5, 0, SIDE, SIDE), shared_edges=True,
    ),
    TriangleScene(
        "rows", "two squares that meet in the middle of a row",
        _square(0, 0, SIDE, 20.5) + _square(0, 20.5, SIDE, SIDE), shared_edges=True,
    ),
    TriangleScene("fan", "eight triangles around the centre of a pixel", _fan(16.5, 11.5), shared_edges=True),
    TriangleScene("mesh", "a net of crooked triangles", _mesh(), shared_edges=True),
    TriangleScene("repeated", "five draws, one after another", (_SLANTED,), draws=5),
)  # fmt: skip

SCENES: dict[str, TriangleScene] = {scene.name: scene for scene in _TABLE}
"""All scenes by name."""

"""Primitives: their vertices, the area that they cover, and the interpolation of values over them.

The first vertex of each primitive is the provoking vertex: fragments get its flat outputs.

Vulkan 1.4, "Primitive Clipping", "Coordinate Transformations" and "Rasterization". Primitives are
clipped by depth, by user clip distances, behind the viewer, and beyond `_GUARD` pixels from the image. The
edges of the image need no clipping, since only its pixels are rasterized. Points are clipped as a whole.
Vertices are snapped to 1/256 of a pixel for coverage only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported

Float64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SUBPIXELS = 256
"""Steps of a pixel that vertices are snapped to: 8 bits (VkPhysicalDeviceLimits, subPixelPrecisionBits)."""

_GUARD = 1 << 15
_LEAST_W = 2.0**-40
"""Fraction of the largest w: primitives are clipped where w is less."""
_TINY = 2.0**-140


@dataclass(frozen=True, slots=True, eq=False)
class ScreenShape:
    """A primitive on the screen.

    At the position p = (x, y, 1), with n = forms @ p, a value that varies over the primitive is
    sum(n * values) / sum(n) with perspective, and sum(n * w * values) / scale without. The depth is
    sum(n * z) / scale, and 1 / w is sum(n) / scale.
    """

    polygon: Integers  # convex, its corners in `SUBPIXELS` of a pixel, (corners, 2)
    forms: Float64  # three linear forms of the position, one for each vertex, (3, 3)
    scale: float  # see above
    #: Three vertices: a line repeats its second one, a point repeats its only one.
    vertices: tuple[int, int, int]
    front: bool  # whether it is front-facing; lines and points always are
    number: int  # gl_PrimitiveID
    #: `center`, `size`: of a point, in pixels.
    center: tuple[float, float] = (0.0, 0.0)
    size: float = 1.0


@dataclass(frozen=True, eq=False)
class Screen:
    """Converts primitives to shapes."""

    size: Float64  # width and height of the image, which is the viewport
    positions: Float64  # of all vertices in clip coordinates, (vertices, 4)
    sizes: Float64  # of points, (vertices,)
    #: User distances, (vertices, distances).
    clip: Float64
    cull: Float64
    clockwise: bool = False  # whether clockwise triangles face the viewer

    def shape(self, vertices: Sequence[int], number: int) -> ScreenShape | None:
        """Return a primitive's shape; None if no part of it is visible."""
        chosen = np.array(vertices)
        position = self.positions[chosen]
        if not np.isfinite(position).all() or (self.cull[chosen] < 0).all(axis=0).any():
            return None
        if len(vertices) == 1:
            return self._point(int(vertices[0]), number)
        weights = _clipped(self._planes(chosen))
        if len(weights) < len(vertices):
            return None
        corners = weights @ position
        positions = self._framebuffer(corners)
        if len(vertices) == 2:
            return self._line(chosen, weights, corners, positions, number)
        return self._triangle(chosen, positions, number)

    def _planes(self, chosen: Integers) -> Float64:
        """Return the distance of each vertex from each plane, positive inside: (planes, vertices)."""
        x, y, z, w = self.positions[chosen].T
        guard = 2 * _GUARD / self.size - 1
        planes = [z, w - z, guard[0] * w - x, guard[0] * w + x, guard[1] * w - y, guard[1] * w + y]
        planes += list(self.clip[chosen].T)
        if w.min() <= 0:
            planes.append(w - max(_LEAST_W * np.abs(w).max(), _TINY))
        return np.stack(planes)

    def _framebuffer(self, clip: Float64) -> Float64:
        """Return framebuffer coordinates of clip coordinates: (n, 2)."""
        ndc = clip[:, :2] / clip[:, 3:]
        return (ndc + 1) / 2 * self.size

    def _triangle(self, chosen: Integers, positions: Float64, number: int) -> ScreenShape | None:
        position = self.positions[chosen]
        w = position[:, 3]
        x, y = ((position[:, :2] + w[:, None]) / 2 * self.size).T
        following, last = [1, 2, 0], [2, 0, 1]
        # Adjugate of the matrix whose columns are the homogeneous positions of the vertices.
        forms = np.stack(
            [
                y[following] * w[last] - y[last] * w[following],
                x[last] * w[following] - x[following] * w[last],
                x[following] * y[last] - x[last] * y[following],
            ],
            axis=1,
        )
        scale = float(forms[0] @ (x[0], y[0], w[0]))
        polygon = _snapped(positions)
        area = _twice_area(polygon)
        if scale == 0 or area == 0:
            return None
        # With y downwards a negative area is counter-clockwise (Vulkan 1.4, "Basic Polygon Rasterization").
        front = (area > 0) == self.clockwise
        return ScreenShape(
            polygon, forms, scale, (int(chosen[0]), int(chosen[1]), int(chosen[2])), front, number
        )

    def _line(
        self, chosen: Integers, weights: Float64, corners: Float64, positions: Float64, number: int
    ) -> ScreenShape | None:
        """Return a rectangle of width 1 along the line (Vulkan 1.4, "Basic Line Segment Rasterization")."""
        start, end = positions
        along = end - start
        length = float(along @ along)
        if length == 0:
            return None
        across = np.array([-along[1], along[0]]) / np.sqrt(length) / 2
        polygon = _snapped(np.stack([start - across, end - across, end + across, start + across]))
        t = np.array([along[0], along[1], -float(along @ start)])
        ends = np.stack([np.array([0.0, 0.0, length]) - t, t]) / corners[:, 3:]
        forms = np.zeros((3, 3))
        forms[:2] = weights.T @ ends
        first, second = int(chosen[0]), int(chosen[1])
        return ScreenShape(polygon, forms, length, (first, second, second), True, number)

    def _point(self, vertex: int, number: int) -> ScreenShape | None:
        """Return a square (Vulkan 1.4, "Basic Point Rasterization")."""
        x, y, z, w = self.positions[vertex]
        size = float(self.sizes[vertex])
        inside = w > 0 and abs(x) <= w and abs(y) <= w and 0 <= z <= w
        if not inside or (self.clip[vertex] < 0).any() or not 0 < size <= _GUARD:
            return None
        center = self._framebuffer(self.positions[vertex : vertex + 1])[0]
        corners = center + np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * size
        forms = np.zeros((3, 3))
        forms[0, 2] = 1 / w
        return ScreenShape(
            _snapped(corners),
            forms,
            1.0,
            (vertex, vertex, vertex),
            True,
            number,
            (float(center[0]), float(center[1])),
            size,
        )


def _clipped(planes: Float64) -> Float64:
    """Return the corners of a clipped line or polygon.

    `planes`: (planes, vertices) distances, zero or positive inside.

    Returns the corners as weights of the vertices: (corners, vertices).
    """
    count = planes.shape[1]
    corners = np.eye(count)
    for plane in planes[(planes < 0).any(axis=1)]:
        distance = corners @ plane
        inside = distance >= 0
        if not inside.any():
            return corners[:0]
        clipped = []
        for number, corner in enumerate(corners):
            before = number - 1
            if count == 2 and number == 0:
                if inside[0]:
                    clipped.append(corner)
                continue
            if inside[before] != inside[number]:
                t = distance[before] / (distance[before] - distance[number])
                clipped.append(corners[before] + t * (corner - corners[before]))
            if inside[number]:
                clipped.append(corner)
        corners = np.array(clipped)
    return corners


def _snapped(positions: Float64) -> Integers:
    return np.floor(positions * SUBPIXELS + 0.5).astype(np.int64)


def _twice_area(polygon: Integers) -> int:
    x, y = polygon.T
    return int((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


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

    Raises Unsupported: the topology is not supported.
    """
    if topology not in _TOPOLOGIES:
        raise Unsupported(f"The reference device does not draw {topology!r}.", [topology])
    return _TOPOLOGIES[topology](count)

"""The record of a draw, and the probes that expect something of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.fragment.scenes import GRID, Scene

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Drawn:
    """The record of a draw, by pixel; axes (layers, GRID, GRID).

    Attributes
    ----------
    count : how often each pixel was shaded to the end.
    before : how often it was shaded up to where fragments may leave.
    lane : gl_SubgroupInvocationID; 0 where the device has no subgroups in fragment shaders.
    mask : (layers, GRID, GRID, 4) subgroupBallot(true), zeros likewise.
    color : (size, size[, samples]) what is in the color attachment.
    size : subgroup size.
    """

    scene: Scene
    count: Words
    before: Words
    lane: Indices
    mask: Words
    color: NDArray[Any]
    size: int

    @property
    def y(self) -> Indices:
        """Row of each pixel."""
        return np.asarray(np.indices(self.count.shape)[1])

    @property
    def x(self) -> Indices:
        """Column of each pixel."""
        return np.asarray(np.indices(self.count.shape)[2])

    @property
    def layer(self) -> Indices:
        """Layer of each pixel: the triangle's number or the sample's."""
        return np.asarray(np.indices(self.count.shape)[0])

    @property
    def shaded(self) -> Flags:
        """The pixels that the triangles cover."""
        return self.scene.covered

    @property
    def gone(self) -> Flags:
        """The pixels of fragments that leave on the way, if they are shaded."""
        return np.broadcast_to(self.scene.gone, self.count.shape)

    @property
    def present(self) -> Flags:
        """The pixels that are shaded to the end and so leave a result."""
        return self.shaded & ~self.gone

    def of_lane(self, lane: Indices) -> tuple[Indices, Indices]:
        """Return the pixel (x, y) of another lane of each pixel's quad.

        KHR_shader_subgroup, section 3.8: lanes 0, 1, 2, 3 of a quad are the pixels (x, y), (x + 1, y),
        (x, y + 1), (x + 1, y + 1).

        Parameters
        ----------
        lane : its number in the quad, 0 to 3.
        """
        x = self.x - (self.lane & 1) + (lane & 1)
        y = self.y - (self.lane >> 1 & 1) + (lane >> 1 & 1)
        return x, y

    def at(self, flags: Flags, x: Indices, y: Indices) -> Flags:
        """Return the flags of other pixels of the same layer; False beyond the record."""
        beyond = (x < 0) | (y < 0) | (x >= GRID) | (y >= GRID)
        values = flags[self.layer, np.where(beyond, 0, y), np.where(beyond, 0, x)]
        return np.asarray(values & ~beyond)


Expect = Callable[[Drawn], Expected]
"""What the specification allows of each pixel, (layers, GRID, GRID)."""


@dataclass(frozen=True)
class Probe:
    """Something that every fragment of a scene does.

    Attributes
    ----------
    topic, name : parts of the name of a case.
    sentence : what must be found, with the place that says so.
    scenes : names of the scenes on which it is judged.
    expect : see `Expect`.
    code : GLSL expression of the result; "" where the record itself is judged.
    result : "uint" or "float".
    source : what of the draw is judged: "" for the result, "count" or "before" for these, or "color" for the
        attachment, as (samples, GRID, GRID).
    needs : categories of subgroup operations.
    """

    topic: str
    name: str
    sentence: str
    scenes: tuple[str, ...]
    expect: Expect
    code: str = ""
    result: str = "uint"
    source: str = ""
    needs: tuple[str, ...] = ()

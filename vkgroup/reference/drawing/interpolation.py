"""Interpolation of vertex outputs for fragments: Vulkan 1.4, "Interpolation Decorations".

Undecorated inputs are interpolated at the center of the pixel, or at the sample with sample shading. Inputs
with the Centroid decoration are interpolated at the center where the primitive covers all samples, else at
the first covered sample. The specification leaves the point in the pixel to the implementation (with
Centroid, the point in its covered part). Results that depend on it still count as defined here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.drawing.shapes import ScreenShape
from vkgroup.reference.drawing.vertices import Column
from vkgroup.reference.interpreter.program.interface import Assembly, Component, Port
from vkgroup.reference.interpreter.values.value import Value
from vkgroup.spirv import Type

Float64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Shapes:
    """The shapes of a draw as arrays, with one entry for each shape.

    `forms`, `scale`, `vertices`, `front`, `number`, `center`, `size`: as in `ScreenShape`.
    `z`, `w`: depth and w in clip coordinates at each vertex, (shapes, 3).
    """

    def __init__(self, shapes: Sequence[ScreenShape], position: Float64) -> None:
        self.forms = np.array([shape.forms for shape in shapes])
        self.scale = np.array([shape.scale for shape in shapes])
        self.vertices = np.array([shape.vertices for shape in shapes], np.int64)
        self.front = np.array([shape.front for shape in shapes], np.bool_)
        self.number = np.array([shape.number for shape in shapes], np.int32)
        self.center = np.array([shape.center for shape in shapes])
        self.size = np.array([shape.size for shape in shapes])
        self.z, self.w = position[self.vertices, 2], position[self.vertices, 3]

    def at(self, shape: Integers, position: Float64) -> At:
        """Return the forms of the shapes with these numbers, (n,), at positions in pixels, (2, n)."""
        x, y = position
        forms = self.forms[shape]
        parts = (forms[:, :, 0].T * x + forms[:, :, 1].T * y) + forms[:, :, 2].T
        return At(parts, self.scale[shape], self.z[shape].T, self.w[shape].T)


class At(NamedTuple):
    """The forms of shapes at some positions."""

    parts: Float64  # (3, n), one for each vertex
    scale: Float64  # (n,)
    z: Float64  # (3, n)
    w: Float64  # (3, n)

    @property
    def depth(self) -> Float64:
        """Depth, (n,)."""
        return np.asarray((self.parts * self.z).sum(axis=0) / self.scale)

    @property
    def inverse_w(self) -> Float64:
        """1 / w, (n,)."""
        return np.asarray(self.parts.sum(axis=0) / self.scale)

    def smooth(self, values: Float64) -> Float64:
        """Interpolate vertex values, (3, n), with perspective correction."""
        return np.asarray((self.parts * values).sum(axis=0) / self.parts.sum(axis=0))

    def linear(self, values: Float64) -> Float64:
        """Interpolate vertex values, (3, n), without perspective correction."""
        return np.asarray((self.parts * self.w * values).sum(axis=0) / self.scale)


class Interpolation(NamedTuple):
    """The interpolation of the inputs of fragments."""

    vertices: Integers  # of each fragment's shape, (3, n)
    #: `center`, `centroid`: the points of its inputs, and of its inputs with the Centroid decoration.
    center: At
    centroid: At

    def column(self, column: Column, decorations: frozenset[str]) -> Column:
        """Return a number in every fragment, interpolated from its values in every vertex."""
        data, cause = column
        if "Flat" in decorations or data.dtype.kind != "f":
            first = self.vertices[0]
            return data[first], None if cause is None else cause[first]
        at = self.centroid if "Centroid" in decorations else self.center
        values = data[self.vertices].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # values may be infinite, or NaN
            result = at.linear(values) if "NoPerspective" in decorations else at.smooth(values)
            numbers = result.astype(data.dtype)
        return numbers, None if cause is None else cause[self.vertices].max(axis=0)


def input_values(
    ports: Sequence[Port],
    types: Mapping[int, Type],
    columns: Mapping[Component, Column],
    interpolation: Interpolation,
    missing: int,
) -> dict[int, Value]:
    """Return the inputs of the fragment stage by cell.

    `ports`: the inputs.
    `types`: type of each cell.
    `columns`: the outputs of the vertex stage.
    `missing`: the cause for inputs that the vertex stage does not write.
    """
    count = interpolation.vertices.shape[1]
    assemblies: dict[int, Assembly] = {}
    for port in ports:
        if port.cell not in assemblies:
            assemblies[port.cell] = Assembly(types[port.cell], count, missing)
        for number in port.numbers():
            column = columns.get(number.component)
            if column is not None:
                assemblies[port.cell].put(number, *interpolation.column(column, port.decorations))
    return {cell: assembly.value() for cell, assembly in assemblies.items()}

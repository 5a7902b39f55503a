"""Placement of a matrix in memory: layout by rows or columns, stride and offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.cooperative_matrix.case import Shape

ALIGNMENT = 16
"""Bytes to which a pointer and a stride are aligned at most (Vulkan, RuntimeSpirv-…-08986)."""

LAYOUTS = {"row": "RowMajor", "column": "ColumnMajor"}
"""Layouts, and how GLSL ends their names."""

PLACES = {
    "tight": "one behind the other",
    "padded": "with room between them",
    "offset": "with room between them, behind other elements",
    "repeated": "all in one place (stride 0)",
}
"""How the rows or columns of a matrix lie."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the elements of one matrix lie.

    Attributes
    ----------
    shape : of the matrix.
    layout : a key of `LAYOUTS`.
    offset, stride : in elements.
    size : bytes of an element.
    """

    shape: Shape
    layout: str
    offset: int
    stride: int
    size: int

    @property
    def elements(self) -> NDArray[np.int64]:
        """The place of each element, (rows, columns)."""
        row, column = np.indices((self.shape.rows, self.shape.columns))
        major, minor = (column, row) if self.layout == "column" else (row, column)
        return np.asarray(self.offset + major * self.stride + minor)

    @property
    def extent(self) -> int:
        """Elements of the memory: those up to the last row or column, and some behind it."""
        return int(self.elements.max()) + 1 + ALIGNMENT // self.size


def placed(shape: Shape, layout: str, place: str, size: int, unit: int = 1) -> Placement:
    """Return a placement.

    Parameters
    ----------
    layout, place : keys of `LAYOUTS` and `PLACES`.
    size : bytes of an element.
    unit : bytes that the stride must be a multiple of: of what the pointer points to.
    """
    minor = (shape.rows if layout == "column" else shape.columns) * size
    step = max(min(ALIGNMENT, minor), unit)
    stride = -(-minor // step) * step
    room = -(-ALIGNMENT // step) * step
    if place in ("padded", "offset"):
        stride += room
    if place == "repeated":
        stride = 0
    offset = 3 * room if place == "offset" else 0
    return Placement(shape, layout, offset // size, stride // size, size)

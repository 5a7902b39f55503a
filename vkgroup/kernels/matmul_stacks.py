"""Stacks of matrices: shapes of a batched product as in NumPy, and the dispatches that compute it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from vkgroup.base.errors import InvalidDispatch

_LEVELS = 2
"""Axes of a stack that one dispatch handles."""


@dataclass(frozen=True)
class Axis:
    """An axis of a stack of products.

    Attributes
    ----------
    size : number of products along the axis.
    a, b : distance in elements between the matrices of the operands; 0 if they have the same matrix.
    """

    size: int
    a: int
    b: int


@dataclass(frozen=True)
class Stack:
    """The matrix products of two arrays.

    Attributes
    ----------
    rows, columns, inner : sizes of each product.
    axes : axes of the stack, the first with the greatest distances; () for a single product.
    shape : shape of the result.
    """

    rows: int
    columns: int
    inner: int
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of products."""
        return math.prod(axis.size for axis in self.axes)

    def dispatches(self) -> Iterator[dict[str, int]]:
        """Yield the push constants of ``kernels/matmul/batches.glsl`` for each dispatch."""
        sizes = {"rows": self.rows, "columns": self.columns, "inner": self.inner}
        if not self.axes:
            yield sizes
            return
        outer = self.axes[:-_LEVELS]
        major, minor = (Axis(1, 0, 0), *self.axes)[-_LEVELS:]
        sizes |= {"batches": major.size * minor.size, "minor": minor.size}
        sizes |= {"a_major": major.a, "a_minor": minor.a, "b_major": major.b, "b_minor": minor.b}
        matrices = sizes["batches"] * self.rows * self.columns
        for number, index in enumerate(product(*(range(axis.size) for axis in outer))):
            a_first = sum(i * axis.a for i, axis in zip(index, outer, strict=True))
            b_first = sum(i * axis.b for i, axis in zip(index, outer, strict=True))
            yield sizes | {"a_first": a_first, "b_first": b_first, "product_first": number * matrices}


def stack_of(left: tuple[int, ...], right: tuple[int, ...], most_rows: int = 0) -> Stack:
    """Return the products of two shapes, as `numpy.matmul`; raise `InvalidDispatch` if there are none.

    Several matrices times one matrix are a single product with more rows, if these are at most `most_rows`.
    """
    if not left or not right:
        raise InvalidDispatch(
            f"A product needs arrays of at least one axis; the shapes {left} and {right} were given."
            " Multiply by a scalar with another operation."
        )
    a, b = left if len(left) > 1 else (1, *left), right if len(right) > 1 else (*right, 1)
    if a[-1] != b[-2]:
        raise InvalidDispatch(
            f"The inner axes differ: the matrices of {left} have {a[-1]} columns, those of {right} have"
            f" {b[-2]} rows."
        )
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError as error:
        raise InvalidDispatch(
            f"The leading axes of {left} and {right} differ, and cannot be broadcast: sizes must be equal,"
            " or 1."
        ) from error
    shape = (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))
    rows, columns, inner = a[-2], b[-1], a[-1]
    if math.prod(b[:-2]) == 1 and rows * math.prod(batch) <= most_rows:
        return Stack(rows * math.prod(batch), columns, inner, (), shape)
    distances = zip(_distances(batch, a), _distances(batch, b), strict=True)
    axes = [Axis(size, *both) for size, both in zip(batch, distances, strict=True)]
    return Stack(rows, columns, inner, _merged(axes), shape)


def _distances(batch: tuple[int, ...], matrices: tuple[int, ...]) -> list[int]:
    """Return the distances of an operand's matrices along each axis of the result's stack."""
    distances: list[int] = []
    distance = math.prod(matrices[-2:])
    own = (1,) * (len(batch) + 2 - len(matrices)) + matrices[:-2]
    for size in reversed(own):
        distances.append(distance if size > 1 else 0)
        distance *= size
    return distances[::-1]


def _merged(axes: list[Axis]) -> tuple[Axis, ...]:
    """Remove axes of size 1, and combine neighbours that one axis can replace."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if merged and (merged[-1].a, merged[-1].b) == (axis.size * axis.a, axis.size * axis.b):
            merged[-1] = Axis(merged[-1].size * axis.size, axis.a, axis.b)
        else:
            merged.append(axis)
    return tuple(merged)

"""Matrices and dot products: SPIR-V 3.52.13, OpVectorTimesMatrix to OpDot, and OpTranspose.

A matrix is (columns, rows, n). Sums are added from the first product to the last, each one rounded; Vulkan
takes any order ("Precision of Individual Operations": inherited from the formula).
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    Kernel,
    dims_of,
    spread,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, single


def dot(x: Data, y: Data) -> Data:
    """Return the sum of products along the first axis, in order."""
    total = x[0] * y[0]
    for left, right in zip(x[1:], y[1:], strict=True):
        total += left * right
    return np.asarray(total)


def _vector_times_matrix(vector: Data, matrix: Data) -> Data:
    return dot(vector[:, None], matrix.swapaxes(0, 1))


def _matrix_times_vector(matrix: Data, vector: Data) -> Data:
    return dot(matrix, vector[:, None])


def _matrix_times_matrix(left: Data, right: Data) -> Data:
    # Element (column c, row r) is the sum over k of left (k, r) times right (c, k).
    return dot(left[:, None], right.swapaxes(0, 1)[:, :, None])


def _outer(column: Data, row: Data) -> Data:
    return np.asarray(column[None] * row[:, None])


def _product(kernel: Kernel, causes: Kernel) -> Factory:
    """Return the function of a product; `causes` takes those of both operands to the result's components."""

    def factory(site: Site) -> Function:
        first, second = (dims_of(kind) for kind in site.operand_types)

        def run(a: Value, b: Value) -> Value:
            cause = None
            if a.cause is not None or b.cause is not None:
                nothing = np.zeros(1, np.uint16)
                left = spread(nothing if a.cause is None else a.cause, first)
                right = spread(nothing if b.cause is None else b.cause, second)
                cause = causes(left, right)
            return single(kernel(a.data, b.data), cause)

        return run

    return factory


def _largest(a: Causes, b: Causes) -> Causes:
    """Return the largest cause over the first axis of both."""
    cause = combine(a, b)
    return np.zeros(1, np.uint16) if cause is None else np.asarray(cause.max(axis=0))


def _transpose(site: Site) -> Function:
    dims = dims_of(site.operand_types[0])

    def run(value: Value) -> Value:
        cause = None if value.cause is None else spread(value.cause, dims).swapaxes(0, 1)
        return single(value.data.swapaxes(0, 1), cause)

    return run


MATRICES: dict[str, Factory] = {
    "OpVectorTimesMatrix": _product(
        _vector_times_matrix, lambda v, m: _largest(v[:, None], m.swapaxes(0, 1))
    ),
    "OpMatrixTimesVector": _product(_matrix_times_vector, lambda m, v: _largest(m, v[:, None])),
    "OpMatrixTimesMatrix": _product(
        _matrix_times_matrix, lambda a, b: _largest(a[:, None], b.swapaxes(0, 1)[:, :, None])
    ),
    "OpOuterProduct": _product(_outer, lambda a, b: np.maximum(a[None], b[:, None])),
    "OpDot": _product(dot, _largest),
    "OpTranspose": _transpose,
}

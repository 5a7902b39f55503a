"""GLSL.std.450: determinant and inverse of a square matrix, computed in float64 and rounded once.

Vulkan names no precision for either.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    dims_of,
    mark,
    spread,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, single


def determinant(matrix: Data) -> Data:
    """Return the determinants of (size, size, n), developed along the first column."""
    if len(matrix) == 1:
        return np.asarray(matrix[0, 0])
    terms = [matrix[0, row] * determinant(_minor(matrix, 0, row)) for row in range(len(matrix))]
    total = terms[0]
    for row, term in enumerate(terms[1:], 1):
        total = total - term if row % 2 else total + term
    return np.asarray(total)


def _minor(matrix: Data, column: int, row: int) -> Data:
    """Return the matrix without a column and a row."""
    columns, rows = ([k for k in range(len(matrix)) if k != without] for without in (column, row))
    return np.asarray(matrix[columns][:, rows])


def adjugate(matrix: Data) -> Data:
    """Return the transposed matrix of cofactors: the inverse times the determinant."""
    size = len(matrix)
    result = np.empty_like(matrix)
    for column in range(size):
        for row in range(size):
            cofactor = determinant(_minor(matrix, row, column))
            result[column, row] = -cofactor if (column + row) % 2 else cofactor
    return result


def _overall(value: Value, dims: tuple[int, ...]) -> Causes | None:
    return None if value.cause is None else np.asarray(spread(value.cause, dims).max(axis=(0, 1)))


def _determinant(site: Site) -> Function:
    dims = dims_of(site.operand_types[0])

    def run(value: Value) -> Value:
        exact = determinant(value.data.astype(np.float64, copy=False))
        return single(exact.astype(value.data.dtype, copy=False), _overall(value, dims))

    return run


def _inverse(site: Site) -> Function:
    dims = dims_of(site.operand_types[0])
    number = site.cause("math_domain", "inverse() of a singular matrix")

    def run(value: Value) -> Value:
        matrix = value.data.astype(np.float64, copy=False)
        divisor = determinant(matrix)
        inverse = (adjugate(matrix) / divisor).astype(value.data.dtype, copy=False)
        return single(inverse, mark(_overall(value, dims), divisor == 0, number))

    return run


GLSL450_MATRICES: dict[str, Factory] = {"Determinant": _determinant, "MatrixInverse": _inverse}

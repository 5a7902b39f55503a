"""Vector and matrix instructions: SPIR-V 3.52.13, OpVectorTimesMatrix to OpDot, OpTranspose; GLSL.std.450.

A matrix is (columns, rows, n). Sums are added from the first product to the last. Each step is rounded to the
operands' type, in the order of the formulas from which Vulkan lets these instructions inherit their precision
("Precision of Individual Operations"). Determinant and inverse, for which Vulkan gives no precision, are
computed in float64 and rounded once. A scalar is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    Kernel,
    dims_of,
    mark,
)
from vkgroup.reference.interpreter.operations.lanewise.glsl450 import inverse_sqrt
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    filled,
    overall_cause,
    single,
    spread,
)


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
    """Return the function of a product; `causes` maps causes of both operands to the result's components."""

    def factory(site: Site) -> Function:
        first, second = (dims_of(kind) for kind in site.operand_types)

        def run(a: Value, b: Value) -> Value:
            cause = None
            if a.cause is not None or b.cause is not None:
                cause = causes(spread(filled(a.cause), first), spread(filled(b.cause), second))
            return single(kernel(a.data, b.data), cause)

        return run

    return factory


def _largest(a: Causes, b: Causes) -> Causes:
    """Return the largest cause over the first axis of both."""
    return np.asarray(np.maximum(a, b).max(axis=0))


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


def determinant(matrix: Data) -> Data:
    """Return the determinants of (size, size, n), expanded along the first column."""
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


def _determinant(site: Site) -> Function:
    def run(value: Value) -> Value:
        exact = determinant(value.data.astype(np.float64, copy=False))
        return single(exact.astype(value.data.dtype, copy=False), overall_cause(value))

    return run


def _inverse(site: Site) -> Function:
    number = site.cause("math_domain", "inverse() of a singular matrix")

    def run(value: Value) -> Value:
        matrix = value.data.astype(np.float64, copy=False)
        divisor = determinant(matrix)
        inverse = (adjugate(matrix) / divisor).astype(value.data.dtype, copy=False)
        return single(inverse, mark(overall_cause(value), divisor == 0, number))

    return run


_NEXT, _AFTER_NEXT = [1, 2, 0], [2, 0, 1]


def _length(x: Data) -> Data:
    return np.asarray(np.sqrt(dot(x, x)))


def _distance(x: Data, y: Data) -> Data:
    return _length(x - y)


def _normalize(x: Data) -> Data:
    return np.asarray(x * inverse_sqrt(dot(x, x)))


def _cross(x: Data, y: Data) -> Data:
    return np.asarray(x[_NEXT] * y[_AFTER_NEXT] - y[_NEXT] * x[_AFTER_NEXT])


def _reflect(incident: Data, normal: Data) -> Data:
    two = incident.dtype.type(2)
    return np.asarray(incident - two * dot(normal, incident) * normal)


def _refract(incident: Data, normal: Data, ratio: Data) -> Data:
    """Return the refracted vector; the ratio of indices comes as a vector of one component."""
    ratio = ratio[0]
    zero, one = ratio.dtype.type(0), ratio.dtype.type(1)
    cosine = dot(normal, incident)
    k = one - ratio * ratio * (one - cosine * cosine)
    bent = ratio * incident - (ratio * cosine + np.sqrt(np.maximum(k, zero))) * normal
    return np.asarray(np.where(k < zero, zero, bent))


def _vector(operand: Value, dims: tuple[int, ...]) -> Data:
    """Return a vector's array; a scalar counts as a vector of one component."""
    return operand.data if dims else operand.data[None]


def _geometry(
    kernel: Callable[..., Data], undefined: Callable[[Data], Data] | None = None, detail: str = ""
) -> Factory:
    """Return a function of vectors; each component of the result depends on all components of all operands.

    `undefined` returns where the first operand gives no result; `detail` is the reason.
    """

    def factory(site: Site) -> Function:
        dims = [dims_of(kind) for kind in site.operand_types]
        result = dims_of(site.type)
        number = site.cause("math_domain", detail) if undefined is not None else 0

        def run(*operands: Value) -> Value:
            vectors = [_vector(*pair) for pair in zip(operands, dims, strict=True)]
            data = kernel(*vectors)
            cause = combine(*(overall_cause(operand) for operand in operands))
            if undefined is not None:
                cause = mark(cause, undefined(vectors[0]), number)
            return single(data.reshape(*result, data.shape[-1]), cause)

        return run

    return factory


def _cross_factory(site: Site) -> Function:
    """Cross: each component depends on the two other components of both operands."""

    def run(x: Value, y: Value) -> Value:
        cause = combine(x.cause, y.cause)
        if cause is not None:
            whole = spread(cause, (3,))
            cause = np.maximum(whole[_NEXT], whole[_AFTER_NEXT])
        return single(_cross(x.data, y.data), cause)

    return run


def _face_forward_factory(site: Site) -> Function:
    """FaceForward: each component depends on the first operand's same one and on all of the two others."""
    dims = dims_of(site.type)

    def run(normal: Value, incident: Value, reference: Value) -> Value:
        sign = dot(_vector(reference, dims), _vector(incident, dims))
        cause = combine(normal.cause, overall_cause(incident), overall_cause(reference))
        return single(np.where(sign < 0, normal.data, -normal.data), cause)

    return run


def _no_direction(x: Data) -> Data:
    return np.equal(dot(x, x), 0)


GLSL450_VECTORS: dict[str, Factory] = {
    "Length": _geometry(_length),
    "Distance": _geometry(_distance),
    "Cross": _cross_factory,
    "Normalize": _geometry(_normalize, _no_direction, "normalize() of a vector without length"),
    "FaceForward": _face_forward_factory,
    "Reflect": _geometry(_reflect),
    "Refract": _geometry(_refract),
    "Determinant": _determinant,
    "MatrixInverse": _inverse,
}

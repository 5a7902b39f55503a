"""Matrix products against plain loops over elements; determinants and inverses against rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from by_hand import F16, F32, F64, FLOATS, call, matrix, undefined, value, vector

N = 3


def numbers(rng, scalar, *shape):
    """Return small integers: products and sums of them are exact in every width."""
    return rng.integers(-9, 10, (*shape, N)).astype(scalar.dtype)


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize(("columns", "rows", "others"), [(2, 2, 2), (3, 2, 4), (4, 3, 2), (4, 4, 4)])
def test_products_by_element(columns, rows, others, scalar):
    rng = np.random.default_rng(columns * rows)
    left, right = numbers(rng, scalar, columns, rows), numbers(rng, scalar, others, columns)
    column, row = numbers(rng, scalar, rows), numbers(rng, scalar, columns)
    m, other = matrix(scalar, columns, rows), matrix(scalar, others, columns)
    tall, wide = vector(scalar, rows), vector(scalar, columns)
    outcomes = {
        "mm": call("OpMatrixTimesMatrix", matrix(scalar, others, rows), (m, left), (other, right)).data,
        "mv": call("OpMatrixTimesVector", tall, (m, left), (wide, row)).data,
        "vm": call("OpVectorTimesMatrix", wide, (tall, column), (m, left)).data,
        "vv": call("OpOuterProduct", m, (tall, column), (wide, row)).data,
        "ms": call("OpMatrixTimesScalar", m, (m, left), (scalar, row[0])).data,
        "t": call("OpTranspose", matrix(scalar, rows, columns), (m, left)).data,
    }
    for lane in range(N):
        for r in range(rows):
            for c in range(others):
                exact = sum(left[k, r, lane] * right[c, k, lane] for k in range(columns))
                assert outcomes["mm"][c, r, lane] == exact
            assert outcomes["mv"][r, lane] == sum(left[k, r, lane] * row[k, lane] for k in range(columns))
            for c in range(columns):
                assert outcomes["vv"][c, r, lane] == column[r, lane] * row[c, lane]
                assert outcomes["ms"][c, r, lane] == left[c, r, lane] * row[0, lane]
                assert outcomes["t"][r, c, lane] == left[c, r, lane]
        for c in range(columns):
            assert outcomes["vm"][c, lane] == sum(column[k, lane] * left[c, k, lane] for k in range(rows))
    assert {result.dtype for result in outcomes.values()} == {scalar.dtype}


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_dot_rounds_each_step_in_order(scalar):
    rng = np.random.default_rng(3)
    kind = vector(scalar, 4)
    x, y = (rng.standard_normal((4, 50)).astype(scalar.dtype) for _ in range(2))
    result = call("OpDot", scalar, (kind, x), (kind, y)).data
    for lane in range(50):
        total = x[0, lane] * y[0, lane]
        for k in range(1, 4):
            total = total + x[k, lane] * y[k, lane]
        assert result[lane] == total


def test_causes_reach_what_they_are_part_of():
    m, v = matrix(F32, 2, 3), vector(F32, 2)
    cause = np.zeros((2, 3, 1), np.uint16)
    cause[1, 2] = 0x8001
    left = value(m, np.ones((2, 3, 1)), cause)
    result = call("OpMatrixTimesVector", vector(F32, 3), (m, left), (v, [[1], [1]]))
    assert undefined(result)[:, 0].tolist() == [False, False, True]
    result = call("OpVectorTimesMatrix", v, (vector(F32, 3), np.ones((3, 1))), (m, left))
    assert undefined(result)[:, 0].tolist() == [False, True]
    result = call("OpTranspose", matrix(F32, 3, 2), (m, left))
    assert undefined(result)[..., 0].tolist() == [[False, False], [False, False], [False, True]]
    right = value(matrix(F32, 2, 2), np.ones((2, 2, 1)), [[[0], [0]], [[0x8002], [0]]])
    result = call("OpMatrixTimesMatrix", m, (m, np.ones((2, 3, 1))), (matrix(F32, 2, 2), right))
    assert undefined(result)[..., 0].tolist() == [[False] * 3, [True] * 3]
    column = value(vector(F32, 3), np.ones((3, 1)), [[0], [0x8003], [0]])
    result = call("OpOuterProduct", m, (vector(F32, 3), column), (v, [[1], [1]]))
    assert undefined(result)[..., 0].tolist() == [[False, True, False]] * 2
    assert undefined(call("OpDot", F32, (vector(F32, 3), column), (vector(F32, 3), np.ones((3, 1))))).all()
    assert call("OpDot", F32, (v, [[1], [2]]), (v, [[3], [4]])).cause is None


def test_uniform_products_are_uniform():
    m, v = matrix(F32, 2, 2), vector(F32, 2)
    assert call("OpMatrixTimesVector", v, (m, np.ones((2, 2, 1))), (v, np.ones((2, 1)))).data.shape == (2, 1)
    assert call("OpMatrixTimesMatrix", m, (m, np.ones((2, 2, 1))), (m, np.ones((2, 2, 5)))).data.shape == (
        2,
        2,
        5,
    )


def leibniz(columns):
    """Return the determinant as the sum over permutations."""
    total, size = 0, len(columns)
    for order in permutations(range(size)):
        inversions = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
        product = Fraction((-1) ** inversions)
        for column, row in enumerate(order):
            product *= Fraction(float(columns[column][row]))
        total += product
    return total


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("scalar", [F16, F32, F64], ids=lambda s: s.glsl)
def test_determinant_and_inverse(size, scalar):
    rng = np.random.default_rng(size)
    data = numbers(rng, scalar, size, size)
    data[:, :, 2] = 1  # singular
    kind = matrix(scalar, size, size)
    determinant = call("GLSL.std.450 Determinant", scalar, (kind, data)).data
    inverse = call("GLSL.std.450 MatrixInverse", kind, (kind, data))
    for lane in range(N):
        exact = leibniz(data[..., lane])
        assert determinant[lane] == scalar.dtype.type(float(exact))
        assert undefined(inverse)[..., lane].all() == (exact == 0)
        if exact:
            product = inverse.data[..., lane].astype(float).T @ data[..., lane].astype(float).T
            tolerance = 200 * np.finfo(scalar.dtype).eps
            assert np.abs(product - np.eye(size)).max() < tolerance


def test_causes_of_determinants():
    kind = matrix(F32, 2, 2)
    operand = value(kind, np.eye(2)[..., None].repeat(2, 2), [[[0, 0], [0, 0]], [[0, 0x8001], [0, 0]]])
    assert call("GLSL.std.450 Determinant", F32, (kind, operand)).cause.tolist() == [0, 0x8001]
    assert undefined(call("GLSL.std.450 MatrixInverse", kind, (kind, operand)))[..., 1].all()

"""Legal ranges: the reference and every evaluation that Vulkan allows are inside."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from by_hand import F16, F32, F64, FLOATS, I32, call, matrix, rounded, vector

from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.precision import INHERITED, PRECISION, UNPROMISED, legal_range

GLSL = "GLSL.std.450 "
UNARY = [
    "Exp",
    "Exp2",
    "Log",
    "Log2",
    "Sqrt",
    "InverseSqrt",
    "Radians",
    "Degrees",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Tanh",
    "Asinh",
    "Acosh",
    "Atanh",
    "Round",
    "Floor",
    "Fract",
    "FAbs",
]
BINARY = [
    "OpFAdd",
    "OpFSub",
    "OpFMul",
    "OpFDiv",
    "OpFRem",
    "OpFMod",
    GLSL + "Pow",
    GLSL + "Atan2",
    GLSL + "FMin",
]
TERNARY = [GLSL + "Fma", GLSL + "FMix", GLSL + "SmoothStep", GLSL + "FClamp"]


def inside(span, found):
    return (span.low <= found) & (found <= span.high)


def ranged(name, scalar, *operands, kinds=None, result=None):
    """Return the legal range and what the reference computes."""
    kinds = kinds or [scalar] * len(operands)
    found = call(name, result or scalar, *zip(kinds, operands, strict=True)).data
    return legal_range(name, scalar, operands, found), found


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_the_reference_is_inside_its_own_range(scalar):
    rng = np.random.default_rng(1)
    x, y, z = (rng.uniform(0.05, 3, 400).astype(scalar.dtype) for _ in range(3))
    names = [*((GLSL + name, (x,)) for name in UNARY), *((name, (x, y)) for name in BINARY)]
    for name, operands in [*names, *((name, (x, y, z)) for name in TERNARY)]:
        span, found = ranged(name, scalar, *operands)
        assert (inside(span, found) | np.isnan(found)).all(), name
        assert span.low.shape == span.high.shape == found.shape


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_vectors_and_matrices_are_inside(scalar):
    rng = np.random.default_rng(2)
    three, square = vector(scalar, 3), matrix(scalar, 3, 3)
    x, y = (rng.standard_normal((3, 50)).astype(scalar.dtype) for _ in range(2))
    m, n = (rng.standard_normal((3, 3, 50)).astype(scalar.dtype) for _ in range(2))
    eta = rng.uniform(0.5, 1, 50).astype(scalar.dtype)
    cases = [
        ("OpDot", scalar, [(three, x), (three, y)]),
        (GLSL + "Length", scalar, [(three, x)]),
        (GLSL + "Distance", scalar, [(three, x), (three, y)]),
        (GLSL + "Cross", three, [(three, x), (three, y)]),
        (GLSL + "Normalize", three, [(three, x)]),
        (GLSL + "Reflect", three, [(three, x), (three, y)]),
        (GLSL + "Refract", three, [(three, x), (three, y), (scalar, eta)]),
        ("OpVectorTimesScalar", three, [(three, x), (scalar, eta)]),
        ("OpOuterProduct", square, [(three, x), (three, y)]),
        ("OpMatrixTimesVector", three, [(square, m), (three, y)]),
        ("OpVectorTimesMatrix", three, [(three, x), (square, m)]),
        ("OpMatrixTimesMatrix", square, [(square, m), (square, n)]),
    ]
    for name, result, operands in cases:
        kinds, data = zip(*operands, strict=True)
        span, found = ranged(name, scalar, *data, kinds=kinds, result=result)
        assert inside(span, found).all(), name
        bounded = np.isfinite(span.low) & np.isfinite(span.high)
        # Refract alone may be anything: the root of a number near zero.
        assert bounded.mean() > (0.5 if name.endswith("Refract") else 0.99), name


def test_correct_rounding_is_either_neighbour():
    one, third = np.float32([1]), np.float32([1 / 3])
    span, _ = ranged("OpFAdd", F32, one, third)
    exact = Fraction(1) + Fraction(float(third[0]))
    near = rounded(exact, F32)
    other = np.nextafter(near, np.float32(2 if Fraction(float(near)) < exact else 0))
    assert (span.low[0], span.high[0]) == tuple(sorted((float(near), float(other))))
    span, _ = ranged("OpFAdd", F32, one, one)
    assert (span.low[0], span.high[0]) == (2, 2)
    span, _ = ranged("OpFAdd", F32, one, np.float32([2.0**-80]))
    assert (span.low[0], span.high[0]) == (1, 1 + 2.0**-23)
    span, _ = ranged("OpFMul", F32, third, third)
    exact = Fraction(float(third[0])) ** 2
    assert Fraction(span.low[0]) < exact < Fraction(span.high[0])
    assert span.high[0] - span.low[0] == 2.0**-27


def test_double_is_held_to_single():
    span, _ = ranged("OpFMul", F64, np.array([1 / 3]), np.array([1.0]))
    assert span.low[0] <= np.float32(1 / 3) <= span.high[0]
    assert 2.0**-26 < span.high[0] - span.low[0] < 2.0**-23


def units(span, found, scalar):
    """Return how many units in the last place the range reaches above the result."""
    with np.errstate(invalid="ignore"):
        return (span.high - found.astype(float)) / np.spacing(np.abs(found)).astype(float)


@pytest.mark.parametrize(
    ("name", "numbers", "low", "high"),
    [
        (GLSL + "Exp", [0.7, -0.7, 5.2], [4, 4, 13], [5, 5, 14]),
        (GLSL + "Log", [9.7, 30.0], [2.5, 2.5], [3.5, 3.5]),
        (GLSL + "InverseSqrt", [0.7, 5], [1.5, 1.5], [2.5, 2.5]),
        (GLSL + "Atan", [0.7, 5], [4095, 4095], [4097, 4097]),
    ],
)
def test_units_in_the_last_place(name, numbers, low, high):
    span, found = ranged(name, F32, np.float32(numbers))
    reach = units(span, found, F32)
    assert (reach >= low).all()
    assert (reach <= high).all()


def test_division():
    span, found = ranged("OpFDiv", F32, np.float32([5, 5, 5, 0]), np.float32([7, 2.0**-127, 2.0**127, 3]))
    reach = units(span, found, F32)
    assert 2 <= reach[0] <= 3
    assert np.isinf(span.high[1:3]).all()
    assert span.low[3] <= 0 <= span.high[3]
    span, _ = ranged("OpFDiv", F16, np.float16([5]), np.float16([2.0**-15]))
    assert np.isinf(span.high[0])


def test_absolute_errors():
    x = np.float32([0.5, -3, 3.2])
    for name, function in (("Sin", math.sin), ("Cos", math.cos)):
        span, _ = ranged(GLSL + name, F32, x)
        for place in (0, 1):
            assert math.isclose(span.high[place] - function(x[place]), 2.0**-11, rel_tol=1e-3)
        assert np.isinf(span.high[2])
    span, found = ranged(GLSL + "Log", F32, np.float32([1.01]))
    assert math.isclose(span.high[0] - found[0], 2.0**-21, rel_tol=0.02)
    span, _ = ranged(GLSL + "Sin", F16, np.float16([0.5]))
    assert math.isclose(span.high[0] - math.sin(0.5), 2.0**-7, rel_tol=1e-2)


def test_inherited_ranges_hold_what_their_formulas_compute():
    """Evaluate in float32, step by step, with the largest error for functions that have their own row."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.1, 0.95, (2, 300)).astype(np.float32)
    worst = np.float32(1 + 2.0**-12.2)  # 4096 units of a number just below a power of two
    one = np.float32(1)
    formulas = {
        "Tan": (np.sin(x) + np.float32(2.0**-11)) / np.cos(x),
        "Asin": np.arctan2(x, np.sqrt(one - x * x)) * worst,
        "Acos": np.arctan2(np.sqrt(one - x * x), x) * worst,
        "Sinh": (np.exp(x) - np.exp(-x)) * np.float32(0.5),
        "Tanh": (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
        "Atanh": np.log((one + x) / (one - x)) * np.float32(0.5),
        "Pow": np.exp2(y * np.log2(x)),
        "FMix": x + x * (y - x),
    }
    for name, outcome in formulas.items():
        operands = {"Pow": (x, y), "FMix": (x, y, x)}.get(name, (x,))
        span, found = ranged(GLSL + name, F32, *operands)
        assert inside(span, outcome).all(), name
        wrong = found.astype(np.float64) * 1.02 + 0.02
        assert not inside(span, wrong).any(), name


def test_cancellation_is_allowed_for():
    x = np.float32([[1e4], [1], [-1e4]])
    y = np.float32([[1], [1 / 3], [1]])
    span, found = ranged("OpDot", F32, x, y, kinds=[vector(F32, 3)] * 2, result=F32)
    assert span.high[0] - found[0] > 1e-3
    assert inside(span, np.float32(0.33300781)).all()


@pytest.mark.parametrize("name", ["OpFRem", "OpFMod"])
def test_the_remainder_of_a_multiple_may_be_the_divisor(name):
    span, found = ranged(name, F32, np.float32([0.7 * 3]), np.float32([0.7]))
    assert inside(span, found).all()
    assert inside(span, np.float32(0.7)).all()


def test_subnormal_numbers_may_be_flushed():
    tiny = np.float32([1e-40])
    cases = {"OpFAdd": (tiny, tiny), "OpFMul": (tiny, np.float32([2])), GLSL + "FAbs": (-tiny,)}
    for name, operands in cases.items():
        span, found = ranged(name, F32, *operands)
        assert inside(span, 0.0).all(), name
        assert inside(span, found).all(), name
    span, _ = ranged("OpFAdd", F32, np.float32([1e-30]), np.float32([1e-30]))
    assert not inside(span, 0.0).any()


def test_overflow_is_an_infinity_or_the_largest_number():
    large = np.float32([3e38])
    span, found = ranged("OpFAdd", F32, large, large)
    assert np.isinf(found).all()
    assert inside(span, float(np.finfo(np.float32).max)).all()
    assert inside(span, np.inf).all()
    assert not inside(span, 3e38).any()
    span, _ = ranged(GLSL + "Exp", F32, np.float32([100]))
    assert inside(span, np.inf).all()
    assert not inside(span, 1e38).any()


def test_halves_round_either_way():
    span, _ = ranged(GLSL + "Round", F32, np.float32([2.5, 2.6, -0.5]))
    assert list(zip(span.low, span.high, strict=True)) == [(2, 3), (3, 3), (-1, 0)]


def test_ldexp():
    span, _ = ranged(GLSL + "Ldexp", F32, np.float32([1.5, 1.5]), np.array([3, -130]), kinds=[F32, I32])
    assert (span.low[0], span.high[0]) == (12, 12)
    assert span.low[1] == 0


def test_conversions_round_either_way():
    span = legal_range("OpConvertSToF", F32, [np.array([2**24 + 1, 7])], np.float32([2**24, 7]))
    assert (span.low[0], span.high[0]) == (2**24, 2**24 + 2)
    assert (span.low[1], span.high[1]) == (7, 7)


def test_fixed_point_may_be_off_by_a_division():
    result = np.float32([[0], [1 / 255]])
    span = legal_range(GLSL + "UnpackUnorm4x8", F32, [np.array([256])], result)
    assert inside(span, result).all()
    assert (span.low[0, 0], span.high[0, 0]) == (0, 0)
    assert span.high[1, 0] > result[1, 0] > span.low[1, 0]


def test_where_nothing_is_promised():
    for name in UNPROMISED:
        assert np.isinf(legal_range(name, F32, [np.eye(2)[..., None]], np.float32([1])).high).all()
    span, _ = ranged(GLSL + "Sqrt", F32, np.float32([-1, 0, 4]))
    assert np.isinf(span.high[0])
    assert (span.low[1], span.high[1]) == (0, 0)
    assert np.isfinite(span.high[2])
    span, _ = ranged("OpFAdd", F32, np.float32([np.inf]), np.float32([1]))
    assert np.isinf(span.low).all()


def test_every_row_names_an_instruction():
    assert set(PRECISION) | set(INHERITED) | UNPROMISED <= set(LANEWISE)

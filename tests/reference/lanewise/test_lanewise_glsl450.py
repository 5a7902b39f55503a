"""Functions of GLSL.std.450 by component, against Python's `math` and rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from by_hand import (
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I32,
    I64,
    U8,
    U16,
    U32,
    call,
    integers,
    rounded,
    same,
    seen,
    struct,
    undefined,
    value,
    vector,
    wrap,
)
from hypothesis import given, settings
from hypothesis import strategies as st

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e4, -7.25, 3.0, INF, -INF]


def glsl(name, result, *operands):
    return call(f"GLSL.std.450 {name}", result, *operands)


ROUNDINGS = {"Round": round, "RoundEven": round, "Trunc": math.trunc, "Floor": math.floor, "Ceil": math.ceil}


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_roundings(name, scalar):
    found = glsl(name, scalar, (scalar, SPECIAL)).data
    expected = [math.copysign(ROUNDINGS[name](x), x) if math.isfinite(x) else x for x in SPECIAL]
    assert same(found, np.array(expected, scalar.dtype))
    assert np.isnan(glsl(name, scalar, (scalar, [NAN])).data).all()


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_fraction_sign_and_size(scalar):
    found = glsl("Fract", scalar, (scalar, SPECIAL)).data
    expected = [x - math.floor(x) if math.isfinite(x) else NAN for x in SPECIAL]
    assert np.array_equal(found, np.array(expected, scalar.dtype), equal_nan=True)
    assert glsl("FAbs", scalar, (scalar, SPECIAL)).data.tolist() == [abs(x) for x in SPECIAL]
    signs = glsl("FSign", scalar, (scalar, [*SPECIAL, NAN]))
    assert signs.data.tolist()[:-1] == [(x > 0) - (x < 0) for x in SPECIAL]
    assert undefined(signs).tolist() == [False] * len(SPECIAL) + [True]


PAIRS = [(a, b) for a in (*SPECIAL, NAN) for b in (*SPECIAL, NAN)]


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize(("name", "function"), [("Min", min), ("Max", max)])
def test_minima_and_maxima(name, function, scalar):
    a, b = zip(*PAIRS, strict=True)
    loose = glsl(f"F{name}", scalar, (scalar, a), (scalar, b))
    strict = glsl(f"N{name}", scalar, (scalar, a), (scalar, b))
    assert not undefined(strict).any()
    for (x, y), hole, first, second in zip(PAIRS, undefined(loose), loose.data, strict.data, strict=True):
        numbers = [z for z in (x, y) if not math.isnan(z)]
        assert hole == (len(numbers) < 2)
        if len(numbers) == 2:
            assert first == second == function(numbers)
        else:
            assert same(second, np.asarray(numbers[0] if numbers else NAN, scalar.dtype))


def test_clamps():
    rows = [(5, 1, 3), (0, 1, 3), (2, 1, 3), (2, 3, 1), (NAN, 1, 3), (2, NAN, 3), (2, 1, NAN)]
    x, low, high = zip(*rows, strict=True)
    loose = glsl("FClamp", F32, (F32, x), (F32, low), (F32, high))
    assert loose.data[:3].tolist() == [3, 1, 2]
    assert undefined(loose).tolist() == [False] * 3 + [True] * 4
    strict = glsl("NClamp", F32, (F32, x), (F32, low), (F32, high))
    assert undefined(strict).tolist() == [False] * 3 + [True] + [False] * 3
    assert strict.data[4:].tolist() == [1, 2, 2]


@pytest.mark.parametrize("kinds", [(U8, U8), (I8, I8), (U8, I8)], ids=str)
def test_integer_minima_maxima_and_clamps(kinds):
    first, second = kinds
    a = np.repeat(np.arange(256, dtype=np.uint8), 256).view(first.dtype)
    b = np.tile(np.arange(256, dtype=np.uint8), 256).view(second.dtype)
    for letter, see in (("U", "uint"), ("S", "int")):
        x, y = ([seen(n, kind, see) for n in data] for data, kind in ((a, first), (b, second)))
        for name, function in (("Min", min), ("Max", max)):
            found = glsl(f"{letter}{name}", first, (first, a), (second, b)).data.tolist()
            assert found == [wrap(function(pair), first) for pair in zip(x, y, strict=True)]
        found = glsl(f"{letter}Clamp", first, (first, np.full(len(a), 100)), (first, a), (second, b))
        holes = [low > high for low, high in zip(x, y, strict=True)]
        assert undefined(found).tolist() == holes
        inside = [min(max(100, low), high) for low, high in zip(x, y, strict=True)]
        assert all(
            hole or data == wrap(n, first)
            for hole, data, n in zip(holes, found.data.tolist(), inside, strict=True)
        )


@pytest.mark.parametrize("scalar", [I8, U8, I32, U32, I64], ids=lambda s: s.glsl)
def test_integer_signs(scalar):
    low, high = integers(scalar)
    numbers = [low, high, 0, 1, wrap(-1, scalar), wrap(-5, scalar)]
    signed = [seen(n, scalar, "int") for n in numbers]
    assert glsl("SAbs", scalar, (scalar, numbers)).data.tolist() == [wrap(abs(n), scalar) for n in signed]
    expected = [wrap((n > 0) - (n < 0), scalar) for n in signed]
    assert glsl("SSign", scalar, (scalar, numbers)).data.tolist() == expected


def test_blends_and_steps():
    x, y, a = np.float32([1, 2, 0.1]), np.float32([3, -2, 0.7]), np.float32([0.25, 0.5, 0.3])
    blend = [p * (np.float32(1) - r) + q * r for p, q, r in zip(x, y, a, strict=True)]
    assert glsl("FMix", F32, (F32, x), (F32, y), (F32, a)).data.tolist() == blend
    edges = glsl("Step", F32, (F32, [1, 1, 1, NAN]), (F32, [0.5, 1, 2, 0]))
    assert edges.data.tolist() == [0, 1, 1, 1]
    smooth = glsl("SmoothStep", F32, (F32, [0, 0, 0, 2, 1]), (F32, [2, 2, 2, 1, 1]), (F32, [1, -1, 3, 1, 1]))
    assert smooth.data[:3].tolist() == [0.5, 0, 1]
    assert undefined(smooth).tolist() == [False, False, False, True, True]


REAL = {
    "Sin": math.sin,
    "Cos": math.cos,
    "Tan": math.tan,
    "Asin": math.asin,
    "Acos": math.acos,
    "Atan": math.atan,
    "Sinh": math.sinh,
    "Cosh": math.cosh,
    "Tanh": math.tanh,
    "Asinh": math.asinh,
    "Acosh": math.acosh,
    "Atanh": math.atanh,
    "Exp": math.exp,
    "Exp2": lambda x: 2.0**x,
    "Log": math.log,
    "Log2": math.log2,
    "Sqrt": math.sqrt,
    "InverseSqrt": lambda x: 1 / math.sqrt(x),
    "Radians": math.radians,
    "Degrees": math.degrees,
}


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("name", REAL)
def test_real_functions(name, scalar):
    rng = np.random.default_rng(len(name))
    spread = [rng.uniform(-9, 9, 100), rng.uniform(-1, 1, 100), [0, 1, -1]]
    numbers = np.concatenate(spread).astype(scalar.dtype)
    found = glsl(name, scalar, (scalar, numbers))
    for x, result, hole in zip(numbers.tolist(), found.data.tolist(), undefined(found), strict=True):
        try:
            expected = REAL[name](x)
        except (ValueError, ZeroDivisionError):
            expected = None
        assert hole == (expected is None), x
        if expected is not None:
            # Two libraries may differ in the last places of float64; so then may what is rounded from it.
            unit = float(np.finfo(scalar.dtype).eps) * (2 if scalar is F64 else 1)
            assert math.isclose(result, expected, rel_tol=unit, abs_tol=1e-7 if scalar is F16 else 0)


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_square_root_is_correctly_rounded(scalar, data):
    bits = data.draw(st.integers(0, 2 ** (scalar.bits - 1) - 1))
    x = np.array([bits], f"u{scalar.bits // 8}").view(scalar.dtype)
    if not np.isfinite(x[0]):
        return
    result = glsl("Sqrt", scalar, (scalar, x)).data[0]
    with np.errstate(all="ignore"):
        below, above = (Fraction(float(np.nextafter(result, scalar.dtype.type(end)))) for end in (-1, INF))
    exact, middle = Fraction(float(x[0])), Fraction(float(result))
    assert max((below + middle) / 2, 0) ** 2 <= exact <= ((middle + above) / 2) ** 2


def test_undefined_arguments():
    cases = {
        "Log": ([0, -1, 1], [True, True, False]),
        "Log2": ([-0.0, -1, 2], [True, True, False]),
        "Sqrt": ([-1, 0, -0.0], [True, False, False]),
        "InverseSqrt": ([0, -1, 4], [True, True, False]),
        "Asin": ([1.5, -1, NAN], [True, False, False]),
        "Acosh": ([0.5, 1, 2], [True, False, False]),
        "Atanh": ([1, -1, 0.5], [True, True, False]),
    }
    for name, (numbers, holes) in cases.items():
        assert undefined(glsl(name, F32, (F32, numbers))).tolist() == holes, name


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_pow_and_atan2(scalar):
    rng = np.random.default_rng(2)
    x, y = (rng.uniform(-3, 3, 200).astype(scalar.dtype) for _ in range(2))
    x[:3], y[:3] = 0, (0, 1, -1)
    power = glsl("Pow", scalar, (scalar, x), (scalar, y))
    angle = glsl("Atan2", scalar, (scalar, x), (scalar, y))
    eps = float(np.finfo(scalar.dtype).eps)
    for place, (p, q) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        assert undefined(power)[place] == (p < 0 or (p == 0 and q <= 0))
        assert undefined(angle)[place] == (p == 0 and q == 0)
        if not undefined(power)[place]:
            assert math.isclose(power.data[place], p**q, rel_tol=eps)
        assert math.isclose(angle.data[place], math.atan2(p, q), rel_tol=eps)


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_modf_and_frexp(scalar):
    numbers = [x for x in SPECIAL if math.isfinite(x)]
    parts = glsl("ModfStruct", struct(scalar, scalar), (scalar, numbers))
    expected = np.array([math.modf(x) for x in numbers], scalar.dtype).T
    assert all(same(leaf, row) for leaf, row in zip(parts.leaves, expected, strict=True))
    infinite = glsl("ModfStruct", struct(scalar, scalar), (scalar, [-INF]))
    assert same(np.array(infinite.leaves).ravel(), np.array([-0.0, -INF], scalar.dtype))
    for exponent in (I32, U32):
        split = glsl("FrexpStruct", struct(scalar, exponent), (scalar, [*numbers, INF, NAN]))
        assert split.leaves[1].dtype == exponent.dtype
        for place, x in enumerate(numbers):
            significand, power = math.frexp(x)
            assert same(split.leaves[0][place], scalar.dtype.type(significand))
            assert split.leaves[1][place] == wrap(power, exponent)
        for leaf in (0, 1):
            assert undefined(split, leaf).tolist() == [False] * len(numbers) + [True, True]


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_ldexp(scalar):
    limit = {16: 16, 32: 128, 64: 1024}[scalar.bits]
    rows = [
        (x, e)
        for x in (0.0, -0.0, 0.75, -1.5, 1.999)
        for e in (0, 1, -3, limit, -limit - 5, limit + 1, -(2**31))
    ]
    x, e = zip(*rows, strict=True)
    found = glsl("Ldexp", scalar, (scalar, x), (I32, e))
    as_unsigned = glsl("Ldexp", scalar, (scalar, x), (U32, [wrap(n, U32) for n in e]))
    assert same(found.data, as_unsigned.data)
    for (number, power), result, hole in zip(rows, found.data, undefined(found), strict=True):
        number = float(scalar.dtype.type(number))
        exact = Fraction(number) * Fraction(2) ** max(power, -3000)
        expected = rounded(exact, scalar)
        assert hole == (power > limit or np.isinf(expected)), (number, power)
        if not hole:
            assert result == expected


def test_causes_of_component_wise_functions():
    kind = vector(F32, 2)
    x = value(kind, [[-1, 1], [4, 4]], [[0, 0], [0x8123, 0]])
    found = glsl("Sqrt", kind, (kind, x))
    assert undefined(found).tolist() == [[True, False], [True, False]]
    assert found.cause[1, 0] == 0x8123
    assert glsl("Sqrt", F32, (F32, [1, 2])).cause is None
    assert glsl("UMin", U16, (U16, [1]), (U16, [2])).cause is None

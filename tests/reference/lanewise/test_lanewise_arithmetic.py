"""Floating-point arithmetic against rational numbers, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from by_hand import F16, F32, F64, FLOATS, call, rounded, same, undefined, value, vector
from hypothesis import given, settings
from hypothesis import strategies as st

EXACT = {
    "OpFAdd": lambda a, b: a + b,
    "OpFSub": lambda a, b: a - b,
    "OpFMul": lambda a, b: a * b,
    "OpFDiv": lambda a, b: a / b,
}
FMA = ["OpFmaKHR", "GLSL.std.450 Fma"]


def numbers(scalar):
    """Return finite numbers of all sizes alike: by their bits."""
    bits = st.integers(0, 2**scalar.bits - 1)
    return bits.map(lambda n: float(np.array([n], f"u{scalar.bits // 8}").view(scalar.dtype)[0])).filter(
        math.isfinite
    )


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_operations_round_once(name, scalar, data):
    a, b = data.draw(numbers(scalar)), data.draw(numbers(scalar))
    if name == "OpFDiv":
        b = b or 1.0
    found = call(name, scalar, (scalar, [a]), (scalar, [b])).data[0]
    exact = EXACT[name](Fraction(a), Fraction(b))
    assert found == rounded(exact, scalar), (a, b)
    assert found.dtype == scalar.dtype


def test_float16_multiplication_and_division_over_all_numbers():
    """Rounding to float32 first changes nothing, subnormal results included."""
    rng = np.random.default_rng(5)
    everything = np.arange(2**16, dtype=np.uint16).view(np.float16)
    a = everything[np.isfinite(everything)]
    b = rng.permutation(a)
    for name in ("OpFMul", "OpFDiv"):
        found = call(name, F16, (F16, a), (F16, b)).data
        places = rng.integers(0, len(a), 3000)
        for place in places:
            x, y = Fraction(float(a[place])), Fraction(float(b[place]))
            if name == "OpFDiv" and y == 0:
                continue
            assert found[place] == rounded(x * y if name == "OpFMul" else x / y, F16)


def test_division_by_zero_is_ieee():
    found = call("OpFDiv", F32, (F32, [1, -1, 1, 0]), (F32, [0, 0, -0.0, 0]))
    assert same(found.data, np.array([np.inf, -np.inf, -np.inf, np.nan], np.float32))
    assert not undefined(found).any()


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_fma_rounds_once(scalar, data):
    a, b = data.draw(numbers(scalar)), data.draw(numbers(scalar))
    # The interesting addends are near the product, and near half a unit of its last place.
    product = rounded(Fraction(a) * Fraction(b), scalar)
    half = np.spacing(product) / 2 if np.isfinite(product) else 0
    near = [x for x in (-product, half, -half, product / 4096) if np.isfinite(x)]
    c = data.draw(st.one_of(numbers(scalar), st.sampled_from([float(x) for x in near] or [0.0])))
    found = call("OpFmaKHR", scalar, *((scalar, [x]) for x in (a, b, c))).data[0]
    assert found == rounded(Fraction(a) * Fraction(b) + Fraction(c), scalar), (a, b, c)


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_fma_on_random_bits(scalar):
    rng = np.random.default_rng(scalar.bits)
    unsigned = np.dtype(f"u{scalar.bits // 8}")
    bits = rng.integers(0, np.iinfo(unsigned).max, (3, 4000), unsigned, endpoint=True)
    a, b, c = bits.view(scalar.dtype)
    with np.errstate(all="ignore"):
        c = np.where(rng.random(4000) < 0.5, (-a * b * scalar.dtype.type(1.01)).astype(scalar.dtype), c)
    found = call("GLSL.std.450 Fma", scalar, (scalar, a), (scalar, b), (scalar, c)).data
    for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), found, strict=True):
        if all(map(math.isfinite, (x, y, z))):
            assert result == rounded(Fraction(x) * Fraction(y) + Fraction(z), scalar), (x, y, z)
        else:
            with np.errstate(all="ignore"):
                plain = np.float64(x) * np.float64(y) + np.float64(z)
            assert same(result, scalar.dtype.type(plain))


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
def test_fma_of_zeros_and_infinities(scalar):
    inf, nan = np.inf, np.nan
    rows = [(0, 5, -0.0, 0), (-0.0, 5, -0.0, -0.0), (0, inf, 1, nan), (inf, 1, -inf, nan), (inf, 2, 1, inf)]
    a, b, c, expected = (np.array(column, scalar.dtype) for column in zip(*rows, strict=True))
    assert same(call("OpFmaKHR", scalar, (scalar, a), (scalar, b), (scalar, c)).data, expected)


def test_fma_of_float64_beyond_the_exact_range():
    big, tiny = np.finfo(np.float64).max, 5e-324
    rows = [
        (big, 2.0, -big),
        (big, big, 1.0),
        (tiny, 0.5, tiny),
        (-tiny, 0.5, 0.0),
        (2.0**-600, 2.0**-600, 1),
    ]
    a, b, c = zip(*rows, strict=True)
    found = call("OpFmaKHR", F64, (F64, a), (F64, b), (F64, c)).data
    for *row, result in zip(a, b, c, found, strict=True):
        x, y, z = map(Fraction, row)
        assert same(result, rounded(x * y + z, F64))


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_remainders(scalar, data):
    x, y = data.draw(numbers(scalar)), data.draw(numbers(scalar)) or 1.0
    quotient = Fraction(x) / Fraction(y)
    operands = (scalar, [x]), (scalar, [y])
    remainder = Fraction(x) - Fraction(y) * math.trunc(quotient)
    modulus = Fraction(x) - Fraction(y) * math.floor(quotient)
    assert call("OpFRem", scalar, *operands).data[0] == rounded(remainder, scalar)
    assert call("OpFMod", scalar, *operands).data[0] == rounded(modulus, scalar)


@pytest.mark.parametrize("name", ["OpFRem", "OpFMod"])
def test_remainder_by_zero_is_undefined(name):
    found = call(name, F32, (F32, [5, 5, 0]), (F32, [0, 2, -0.0]))
    assert undefined(found).tolist() == [True, False, True]


def test_vector_times_scalar_and_negation():
    kind = vector(F32, 3)
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = call("OpVectorTimesScalar", kind, (kind, data), (F32, [1, 2, 3, 4]))
    assert found.data.tolist() == (data * np.array([1, 2, 3, 4], np.float32)).tolist()
    assert same(
        call("OpFNegate", F32, (F32, [0.0, -1, np.inf])).data, np.array([-0.0, 1, -np.inf], np.float32)
    )


def test_uniform_operands_give_a_uniform_result():
    kind = vector(F32, 2)
    assert call("OpFAdd", kind, (kind, [[1], [2]]), (kind, [[3], [4]])).data.tolist() == [[4], [6]]
    assert call("OpFAdd", kind, (kind, [[1], [2]]), (kind, np.ones((2, 5)))).data.shape == (2, 5)
    for name in FMA:
        assert call(name, F32, (F32, [2]), (F32, [3]), (F32, [4])).data.tolist() == [10]


def test_causes_stay_with_their_components():
    kind = vector(F32, 2)
    a = value(kind, np.ones((2, 3)), [[0, 0x8001, 0], [0, 0, 0]])
    b = value(kind, np.ones((2, 3)), [[0, 0x8002, 5], [0, 0, 0]])
    found = call("OpFMul", kind, (kind, a), (kind, b))
    assert found.cause.tolist() == [[0, 0x8002, 5], [0, 0, 0]]
    scalar = value(F32, [1, 1, 1], [0x8009, 0, 0])
    found = call("OpVectorTimesScalar", kind, (kind, a), (F32, scalar))
    assert found.cause.tolist() == [[0x8009, 0x8001, 0], [0x8009, 0, 0]]


def test_no_causes_are_made_where_all_is_defined():
    assert call("OpFAdd", F32, (F32, [1, 2]), (F32, [1, 2])).cause is None
    assert call("OpFMod", F32, (F32, [1, 2]), (F32, [1, 2])).cause is None

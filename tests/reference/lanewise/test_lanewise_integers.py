"""Integer arithmetic against Python's integers: every pair of 8-bit ones, examples of the wider."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import (
    I8,
    I16,
    I32,
    I64,
    SIGNED,
    U8,
    U16,
    U32,
    U64,
    UNSIGNED,
    call,
    integers,
    make,
    seen,
    struct,
    undefined,
    value,
    vector,
    wrap,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from vkgroup.spirv import ScalarType


def truncated(a, b):
    """Return a / b rounded towards zero."""
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


# name: how the operands are seen, the exact result (None: undefined)
BINARY = {
    "OpIAdd": ("uint", lambda a, b, low: a + b),
    "OpISub": ("uint", lambda a, b, low: a - b),
    "OpIMul": ("uint", lambda a, b, low: a * b),
    "OpUDiv": ("uint", lambda a, b, low: a // b if b else None),
    "OpUMod": ("uint", lambda a, b, low: a % b if b else None),
    "OpSDiv": ("int", lambda a, b, low: truncated(a, b) if b and (a, b) != (low, -1) else None),
    "OpSRem": ("int", lambda a, b, low: a - b * truncated(a, b) if b > 0 and a >= 0 else None),
    "OpSMod": ("int", lambda a, b, low: a % b if b > 0 and a >= 0 else None),
    "OpBitwiseAnd": ("uint", lambda a, b, low: a & b),
    "OpBitwiseOr": ("uint", lambda a, b, low: a | b),
    "OpBitwiseXor": ("uint", lambda a, b, low: a ^ b),
}
PAIRS = {
    "OpIAddCarry": ("uint", lambda a, b, bits: (a + b, (a + b) >> bits)),
    "OpISubBorrow": ("uint", lambda a, b, bits: (a - b, a < b)),
    "OpUMulExtended": ("uint", lambda a, b, bits: (a * b, (a * b) >> bits)),
    "OpSMulExtended": ("int", lambda a, b, bits: (a * b, (a * b) >> bits)),
}
WIDE = [(U16, U16), (I16, U16), (U32, U32), (I32, I32), (U32, I32), (I64, I64), (U64, I64)]


def check(name, first, second, result, a, b):
    see, exact = BINARY[name]
    found = call(name, result, (first, a), (second, b))
    assert found.data.dtype == result.dtype
    holes = undefined(found)
    low = -(2 ** (first.bits - 1))
    for x, y, z, hole in zip(a, b, found.data.tolist(), holes.tolist(), strict=True):
        expected = exact(seen(x, first, see), seen(y, second, see), low)
        assert hole == (expected is None), (x, y)
        if expected is not None:
            assert z == wrap(int(expected), result), (x, y)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize(
    ("first", "second", "result"), [(U8, U8, U8), (I8, I8, I8), (U8, I8, U8), (I8, U8, I8)]
)
@pytest.mark.parametrize("name", BINARY)
def test_every_pair_of_8_bits(name, first, second, result):
    low, high = integers(first)
    a = np.repeat(np.arange(low, high + 1), 256)
    low, high = integers(second)
    b = np.tile(np.arange(low, high + 1), 256)
    check(name, first, second, result, a, b)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("kinds", WIDE, ids=lambda kinds: "-".join(kind.glsl for kind in kinds))
@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_wider_integers(name, kinds, data):
    first, second = kinds
    edge = [st.sampled_from([0, 1, *integers(kind)]) for kind in kinds]
    columns = [
        data.draw(st.lists(st.one_of(st.integers(*integers(kind)), special), min_size=8, max_size=8))
        for kind, special in zip(kinds, edge, strict=True)
    ]
    check(
        name, first, second, first, *(np.array(c, kind.dtype) for c, kind in zip(columns, kinds, strict=True))
    )


@pytest.mark.parametrize("divisor", [1, 2, 3, 32, 255])
@pytest.mark.parametrize("name", ["OpUDiv", "OpUMod", "OpSDiv", "OpSMod", "OpSRem"])
def test_a_uniform_or_constant_divisor(name, divisor):
    a = np.arange(5000, dtype=np.uint32)
    expected = a // divisor if name.endswith("Div") else a % divisor
    uniform = value(U32, [divisor])
    for constants in (None, (None, uniform)):
        found = call(name, U32, (U32, a), (U32, uniform), constants=constants)
        assert (found.data == expected).all()
        assert found.cause is None


def test_a_constant_zero_divisor_is_still_undefined():
    zero = value(U32, [0])
    found = call("OpUDiv", U32, (U32, [1, 2]), (U32, zero), constants=(None, zero))
    assert undefined(found).all()


@pytest.mark.parametrize("scalar", [U8, U16, U32, U64], ids=lambda s: s.glsl)
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_results_of_two_parts(name, scalar, data):
    see, exact = PAIRS[name]
    kind = ScalarType("int", scalar.bits) if see == "int" else scalar
    ends = st.one_of(st.integers(*integers(kind)), st.sampled_from(integers(kind)))
    a, b = data.draw(ends), data.draw(ends)
    found = call(name, struct(kind, kind), (kind, [a]), (kind, [b]))
    expected = exact(a, b, scalar.bits)
    assert [int(leaf[0]) for leaf in found.leaves] == [wrap(int(x), kind) for x in expected]
    assert [leaf.dtype for leaf in found.leaves] == [kind.dtype] * 2


def test_causes_of_both_parts():
    a = value(U32, [1, 2], [0x8001, 0])
    found = call("OpIAddCarry", struct(U32, U32), (U32, a), (U32, [1, 2]))
    assert [cause.tolist() for cause in found.causes] == [[0x8001, 0]] * 2


@pytest.mark.parametrize("scalar", SIGNED + UNSIGNED, ids=lambda s: s.glsl)
def test_negation_and_not(scalar):
    low, high = integers(scalar)
    numbers = [low, high, 0, 1, high // 3]
    assert call("OpSNegate", scalar, (scalar, numbers)).data.tolist() == [wrap(-x, scalar) for x in numbers]
    assert call("OpNot", scalar, (scalar, numbers)).data.tolist() == [wrap(~x, scalar) for x in numbers]


def test_undefined_division_by_component():
    kind = vector(I32, 2)
    found = call("OpSDiv", kind, (kind, [[7, -8], [-(2**31), 5]]), (kind, [[0, 2], [-1, 5]]))
    assert undefined(found).tolist() == [[True, False], [True, False]]
    assert found.data[:, 1].tolist() == [-4, 1]


def test_the_cause_names_the_division():
    function, site = make("OpUDiv", U32, [U32, U32])
    with np.errstate(all="ignore"):
        found = function(value(U32, [1]), value(U32, [0]))
    cause = site.causes[int(found.cause[0])]
    assert (cause.kind, cause.position) == ("division", 7)


DOTS = {
    "OpSDot": ("int", "int"),
    "OpUDot": ("uint", "uint"),
    "OpSUDot": ("int", "uint"),
}


def test_an_unsigned_component_beyond_a_signed_result_overflows():
    one, large = (vector(I16, 2), [[0], [1]]), (vector(U16, 2), [[0], [1 << 15]])
    assert undefined(call("OpSUDotAccSat", I16, one, large, (I16, [0]), literals=(0,))).all()


@pytest.mark.parametrize("form", ["packed", "bytes", "shorts"])
@pytest.mark.parametrize("name", DOTS)
@pytest.mark.parametrize("bits", [16, 32, 64])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_integer_dot_products(name, form, bits, data):
    signs = DOTS[name]
    part = 16 if form == "shorts" else 8
    count = 2 if form == "shorts" else 4
    kinds = [ScalarType(sign, part) for sign in signs]
    result = ScalarType("uint" if name == "OpUDot" else "int", bits)
    lists = [data.draw(st.lists(st.integers(*integers(k)), min_size=count, max_size=count)) for k in kinds]
    if form == "packed":
        operands = [
            (U32, np.array(numbers, kind.dtype).view(np.uint32))
            for numbers, kind in zip(lists, kinds, strict=True)
        ]
    else:
        operands = [
            (vector(kind, count), [[x] for x in numbers]) for numbers, kind in zip(lists, kinds, strict=True)
        ]
    exact = sum(x * y for x, y in zip(*lists, strict=True))
    assert call(name, result, *operands, literals=(0,)).data.tolist() == [wrap(exact, result)]
    low, high = integers(result)
    start = data.draw(st.one_of(st.integers(low, high), st.sampled_from([low, high])))
    found = call(f"{name}AccSat", result, *operands, (result, [start]), literals=(0,))
    if low <= exact <= high:
        assert not undefined(found).any()
        assert found.data.tolist() == [min(max(exact + start, low), high)]
    else:
        assert undefined(found).all()


def test_causes_of_integer_dot_products():
    kind = vector(I8, 4)
    a = value(kind, np.ones((4, 2)), [[0, 0], [0, 0x8003], [0, 0], [0, 0]])
    found = call("OpSDot", I32, (kind, a), (kind, np.ones((4, 2))))
    assert found.cause.tolist() == [0, 0x8003]
    packed = value(U32, [1, 2], [0x8004, 0])
    found = call("OpUDotAccSat", U32, (U32, packed), (U32, [1, 2]), (U32, [1]), literals=(0,))
    assert found.cause.tolist() == [0x8004, 0]

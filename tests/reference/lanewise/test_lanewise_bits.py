"""Bit instructions against strings and shifts of Python's integers."""

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
    seen,
    undefined,
    value,
    vector,
    wrap,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SHIFTS = {
    "OpShiftLeftLogical": ("uint", lambda x, by: x << by),
    "OpShiftRightLogical": ("uint", lambda x, by: x >> by),
    "OpShiftRightArithmetic": ("int", lambda x, by: x >> by),
}
EVERY = SIGNED + UNSIGNED


def binary(number, bits):
    return format(int(number) & (2**bits - 1), f"0{bits}b")


def numbers(scalar):
    return st.one_of(st.integers(*integers(scalar)), st.sampled_from([0, 1, *integers(scalar)]))


@pytest.mark.parametrize("amount", [U8, I8, U16, I32, U32, U64, I64], ids=lambda s: s.glsl)
@pytest.mark.parametrize("base", EVERY, ids=lambda s: s.glsl)
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_of_all_widths(name, base, amount):
    see, shift = SHIFTS[name]
    low, high = integers(base)
    values = [low, high, 1, high // 3, 0]
    amounts = [x for x in (0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 256, -1) if wrap(x, amount) == x]
    a = np.repeat(np.array(values, base.dtype), len(amounts))
    b = np.tile(np.array(amounts, amount.dtype), len(values))
    found = call(name, base, (base, a), (amount, b))
    for x, by, result, hole in zip(a, b, found.data.tolist(), undefined(found), strict=True):
        places = seen(by, amount, "uint")
        assert hole == (places >= base.bits), (x, by)
        if not hole:
            assert result == wrap(shift(seen(x, base, see), places), base)


def test_a_constant_shift():
    by = value(U32, [4])
    found = call("OpShiftLeftLogical", I32, (I32, [1, -1]), (U32, by), constants=(None, by))
    assert found.data.tolist() == [16, -16]
    assert found.cause is None
    by = value(U32, [32])
    assert undefined(call("OpShiftLeftLogical", I32, (I32, [1]), (U32, by), constants=(None, by))).all()


@pytest.mark.parametrize("scalar", EVERY, ids=lambda s: s.glsl)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_bit_fields(scalar, data):
    base, insert = data.draw(numbers(scalar)), data.draw(numbers(scalar))
    offset = data.draw(st.integers(0, scalar.bits + 2))
    count = data.draw(st.integers(0, scalar.bits + 2))
    place = (U32, [offset]), (I32, [count])
    results = {
        name: call(name, scalar, (scalar, [base]), *place)
        for name in ("OpBitFieldUExtract", "OpBitFieldSExtract")
    }
    results["OpBitFieldInsert"] = call(
        "OpBitFieldInsert", scalar, (scalar, [base]), (scalar, [insert]), *place
    )
    outside = offset + count > scalar.bits
    assert all(undefined(found).tolist() == [outside] for found in results.values())
    if outside:
        return
    low = scalar.bits - offset  # strings have the highest bit first
    text = binary(base, scalar.bits)
    field = text[low - count : low]
    unsigned = int(field or "0", 2)
    signed = unsigned - (2**count if field.startswith("1") else 0)
    replaced = text[: low - count] + binary(insert, scalar.bits)[scalar.bits - count :] + text[low:]
    assert results["OpBitFieldUExtract"].data.tolist() == [wrap(unsigned, scalar)]
    assert results["OpBitFieldSExtract"].data.tolist() == [wrap(signed, scalar)]
    assert results["OpBitFieldInsert"].data.tolist() == [wrap(int(replaced, 2), scalar)]


def test_negative_places_of_bit_fields_are_undefined():
    found = call("OpBitFieldUExtract", U32, (U32, [1, 1]), (I32, [-1, 0]), (I32, [1, -1]))
    assert undefined(found).all()
    found = call("OpBitFieldInsert", U32, (U32, [1]), (U32, [1]), (I64, [-1]), (U8, [1]))
    assert undefined(found).all()


@pytest.mark.parametrize("scalar", EVERY, ids=lambda s: s.glsl)
def test_reverse_and_count(scalar):
    low, high = integers(scalar)
    rng = np.random.default_rng(1)
    values = np.concatenate(
        [rng.integers(low, high, 200, scalar.dtype), np.array([low, high, 0], scalar.dtype)]
    )
    expected = [wrap(int(binary(x, scalar.bits)[::-1], 2), scalar) for x in values]
    assert call("OpBitReverse", scalar, (scalar, values)).data.tolist() == expected
    for result in (scalar, U32, I32):
        found = call("OpBitCount", result, (scalar, values)).data
        assert found.tolist() == [binary(x, scalar.bits).count("1") for x in values]
        assert found.dtype == result.dtype


@pytest.mark.parametrize("scalar", [I8, U8, I16, U16, I32, U32, I64, U64], ids=lambda s: s.glsl)
def test_least_and_most_significant_bits(scalar):
    low, high = integers(scalar)
    powers = [wrap(2**k + d, scalar) for k in range(scalar.bits) for d in (-1, 0, 1)]
    values = np.array([low, high, 0, wrap(-1, scalar), *powers], scalar.dtype)
    lowest = [binary(x, scalar.bits)[::-1].find("1") for x in values]
    highest = [scalar.bits - 1 - i if (i := binary(x, scalar.bits).find("1")) >= 0 else -1 for x in values]
    flipped = [binary(~int(x) if seen(x, scalar, "int") < 0 else x, scalar.bits) for x in values]
    signed = [scalar.bits - 1 - i if (i := text.find("1")) >= 0 else -1 for text in flipped]
    for name, expected in (("FindILsb", lowest), ("FindUMsb", highest), ("FindSMsb", signed)):
        found = call(f"GLSL.std.450 {name}", scalar, (scalar, values)).data
        assert found.tolist() == [wrap(x, scalar) for x in expected], name


def test_causes_of_bits():
    kind = vector(U32, 2)
    shifted = call("OpShiftLeftLogical", kind, (kind, [[1, 1], [1, 1]]), (kind, [[1, 32], [2, 3]]))
    assert undefined(shifted).tolist() == [[False, True], [False, False]]
    base = value(U32, [1, 1], [0x8001, 0])
    found = call("OpBitFieldUExtract", U32, (U32, base), (U32, [0]), (U32, [1]))
    assert found.cause.tolist() == [0x8001, 0]
    assert call("OpBitCount", I32, (U32, base)).cause.tolist() == [0x8001, 0]


def test_uniform_bits():
    assert call("OpBitFieldUExtract", U32, (U32, [6]), (U32, [1]), (U32, [2])).data.tolist() == [3]
    assert call("OpBitFieldInsert", U32, (U32, [0]), (U32, [3]), (U32, [1]), (U32, [2])).data.tolist() == [6]

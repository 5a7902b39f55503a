"""Conversions against rational numbers and `struct`."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from by_hand import (
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    SIGNED,
    U8,
    U16,
    U32,
    U64,
    UNSIGNED,
    call,
    integers,
    rounded,
    same,
    seen,
    undefined,
    value,
    vector,
    wrap,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from vkgroup.spirv import PointerType

EVERY = SIGNED + UNSIGNED


@pytest.mark.parametrize("source", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("target", EVERY, ids=lambda s: s.glsl)
def test_floats_to_integers(source, target):
    low, high = integers(target)
    with np.errstate(all="ignore"):
        ends = np.array([low - 1, low, low + 1, high - 1, high, high + 1, -1, 0], source.dtype)
        near = np.concatenate(
            [np.nextafter(ends, source.dtype.type(np.inf)), np.nextafter(ends, -ends.max())]
        )
    halves = np.array([-1.5, -0.99, -0.5, 0.5, 0.99, 1.5, 1e4, np.inf, -np.inf, np.nan], source.dtype)
    numbers = np.concatenate([ends, near, halves, ends - source.dtype.type(0.5)])
    found = call(f"OpConvertFTo{'S' if target.kind == 'int' else 'U'}", target, (source, numbers))
    for x, result, hole in zip(numbers.tolist(), found.data.tolist(), undefined(found), strict=True):
        legal = math.isfinite(x) and low <= math.trunc(x) <= high
        assert hole == (not legal), x
        if legal:
            assert result == math.trunc(x)


def test_signedness_of_a_conversion_is_the_instructions():
    found = call("OpConvertFToS", U32, (F32, [-3.7, 3e9]))
    assert found.data[0] == 2**32 - 3
    assert undefined(found).tolist() == [False, True]


@pytest.mark.parametrize("source", EVERY, ids=lambda s: s.glsl)
@pytest.mark.parametrize("target", FLOATS, ids=lambda s: s.glsl)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_integers_to_floats_round_once(source, target, data):
    number = data.draw(st.one_of(st.integers(*integers(source)), st.sampled_from(integers(source))))
    for name, see in (("OpConvertSToF", "int"), ("OpConvertUToF", "uint")):
        found = call(name, target, (source, [number])).data[0]
        assert found == rounded(Fraction(seen(number, source, see)), target)


@pytest.mark.parametrize("number", [2049 * 2**10 + 1, 2**24 + 1, 2**53 + 1, 2**62 + 2**38 + 1, 65519, 65520])
@pytest.mark.parametrize("target", FLOATS, ids=lambda s: s.glsl)
def test_integers_that_two_roundings_would_get_wrong(number, target):
    assert call("OpConvertUToF", target, (U64, [number])).data[0] == rounded(Fraction(number), target)


@pytest.mark.parametrize("source", EVERY, ids=lambda s: s.glsl)
@pytest.mark.parametrize("target", EVERY, ids=lambda s: s.glsl)
def test_widths_of_integers(source, target):
    low, high = integers(source)
    numbers = [low, high, 0, 1, high // 3, wrap(-1, source)]
    for name, see in (("OpSConvert", "int"), ("OpUConvert", "uint")):
        found = call(name, target, (source, numbers)).data
        assert found.tolist() == [wrap(seen(x, source, see), target) for x in numbers]
        assert found.dtype == target.dtype
    for name, see, other in (("OpSatConvertSToU", "int", "uint"), ("OpSatConvertUToS", "uint", "int")):
        bottom, top = (0, 2**target.bits - 1)
        if other == "int":
            bottom, top = -(2 ** (target.bits - 1)), 2 ** (target.bits - 1) - 1
        expected = [wrap(min(max(seen(x, source, see), bottom), top), target) for x in numbers]
        assert call(name, target, (source, numbers)).data.tolist() == expected


@pytest.mark.parametrize("source", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("target", FLOATS, ids=lambda s: s.glsl)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_widths_of_floats(source, target, data):
    number = data.draw(st.floats(width=source.bits))
    if data.draw(st.booleans()) and math.isfinite(number):
        number = float(source.dtype.type(number % 70000 * 2.0**-16))
    found = call("OpFConvert", target, (source, [number])).data[0]
    expected = rounded(Fraction(number), target) if math.isfinite(number) else target.dtype.type(number)
    assert found == expected or (math.isnan(found) and math.isnan(number))


def test_quantize_has_no_subnormal_numbers():
    smallest = 2.0**-14
    numbers = [1.0, 1 / 3, 65504.0, 65519.0, 65520.0, smallest, smallest * 0.9, -smallest * 0.9, -0.0, np.inf]
    expected = [1.0, float(np.float16(1 / 3)), 65504.0, 65504.0, np.inf, smallest, 0.0, -0.0, -0.0, np.inf]
    assert same(call("OpQuantizeToF16", F32, (F32, numbers)).data, np.array(expected, np.float32))
    assert np.isnan(call("OpQuantizeToF16", F32, (F32, [np.nan])).data).all()


BITCASTS = [
    (U32, F32, "<I", "<f"),
    (F64, U64, "<d", "<Q"),
    (vector(U32, 2), F64, "<2I", "<d"),
    (vector(U16, 4), vector(U32, 2), "<4H", "<2I"),
    (U32, vector(U8, 4), "<I", "<4B"),
    (vector(U8, 4), I32, "<4B", "<i"),
    (vector(F16, 2), U32, "<2e", "<I"),
    (vector(U64, 2), vector(U32, 4), "<2Q", "<4I"),
    (U64, vector(U32, 2), "<Q", "<2I"),
    (vector(I16, 3), vector(U16, 3), "<3h", "<3H"),
]


@pytest.mark.parametrize(("source", "target", "packed", "unpacked"), BITCASTS)
def test_bitcasts(source, target, packed, unpacked):
    rng = np.random.default_rng(0)
    size = struct.calcsize(packed)
    texts = [rng.integers(0, 60, size, np.uint8).tobytes() for _ in range(7)]
    data = np.array([struct.unpack(packed, text) for text in texts]).T
    expected = np.array([struct.unpack(unpacked, text) for text in texts]).T
    operand = value(source, data if data.shape[0] > 1 else data[0])
    found = call("OpBitcast", target, (source, operand))
    assert found.data.tolist() == (expected if expected.shape[0] > 1 else expected[0]).tolist()
    uniform = value(source, data[..., :1] if data.shape[0] > 1 else data[0, :1])
    assert call("OpBitcast", target, (source, uniform)).data.shape[-1] == 1


def test_bitcasts_of_pointers():
    pointer = PointerType("PhysicalStorageBuffer", None)
    address = 0x1234_5678_9ABC_DEF0
    halves = [[address & 0xFFFFFFFF], [address >> 32]]
    assert call("OpBitcast", pointer, (vector(U32, 2), halves)).data.tolist() == [address]
    operand = value(U64, [address])
    assert call("OpBitcast", vector(U32, 2), (pointer, operand)).data.tolist() == halves
    assert call("OpConvertPtrToU", U64, (pointer, operand)).data.tolist() == [address]
    assert call("OpConvertUToPtr", pointer, (U64, operand)).data.tolist() == [address]
    assert call("OpConvertPtrToU", U32, (pointer, operand)).data.tolist() == halves[0]


def test_causes_of_bitcasts():
    kind = vector(U16, 4)
    operand = value(kind, np.zeros((4, 1)), [[0], [0x8001], [0], [0]])
    joined = call("OpBitcast", vector(U32, 2), (kind, operand))
    assert joined.cause.tolist() == [[0x8001], [0]]
    operand = value(vector(U32, 2), np.zeros((2, 1)), [[0x8001], [0]])
    assert call("OpBitcast", kind, (vector(U32, 2), operand)).cause.tolist() == [[0x8001], [0x8001], [0], [0]]
    operand = value(vector(U32, 2), np.zeros((2, 3)), [0, 0x8002, 0])
    assert call("OpBitcast", F64, (vector(U32, 2), operand)).cause.tolist() == [0, 0x8002, 0]


def test_causes_of_conversions():
    kind = vector(F32, 2)
    operand = value(kind, [[1, 1e20], [2, 3]], [[0, 0], [0x8500, 0]])
    found = call("OpConvertFToS", vector(I32, 2), (kind, operand))
    assert undefined(found).tolist() == [[False, True], [True, False]]
    assert found.cause[1, 0] == 0x8500
    assert call("OpConvertFToS", I8, (F32, [127.9, -128.9])).cause is None

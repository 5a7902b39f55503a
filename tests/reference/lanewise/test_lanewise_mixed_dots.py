"""OpFDot2MixAcc32VALVE and its variants against exact sums, and in a shader on the reference device."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import F16, F32, F64, call, undefined, value, vector

import vkgroup
from vkgroup.base.errors import Unsupported
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter.values.value import single
from vkgroup.spirv import ScalarType

BF16 = ScalarType(dtypes.BFLOAT16, 16)
N = 300

_SHADER = """#version 450
#extension GL_EXT_spirv_intrinsics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6912], id = 6916)
float dot_and_add(f16vec2 x, f16vec2 y, float sum);
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer X { f16vec2 x[]; };
layout(binding = 1) buffer S { float s[]; };
void main() { uint i = gl_GlobalInvocationID.x; s[i] = dot_and_add(x[i], x[i + 1u], s[i]); }
"""


def exact_sums(x, y, accumulator):
    return [
        Fraction(float(s)) + sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(p, q, strict=True))
        for p, q, s in zip(x.T, y.T, accumulator, strict=True)
    ]


@pytest.mark.parametrize(("name", "scalar"), [("OpFDot2MixAcc32VALVE", F32), ("OpFDot2MixAcc16VALVE", F16)])
def test_the_result_is_the_nearest_number_to_the_exact_sum(name, scalar):
    """Products of 22 bits and exponents within 12 of each other: the sum is exact in float64's 53 bits."""
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(1, 8, (2, N)).astype(np.float16) for _ in range(2))
    accumulator = rng.uniform(-60, 60, N).astype(scalar.dtype)
    kind = vector(F16, 2)
    found = call(name, scalar, (kind, x), (kind, y), (scalar, accumulator)).data
    assert found.dtype == scalar.dtype
    for result, exact in zip(found, exact_sums(x, y, accumulator), strict=True):
        neighbours = [np.nextafter(result, result.dtype.type(end)) for end in (-np.inf, np.inf)]
        errors = [abs(Fraction(float(number)) - exact) for number in (result, *neighbours)]
        assert errors[0] == min(errors)


def test_products_are_not_rounded_to_the_factors_type():
    kind, x = vector(F16, 2), [[1 + 2**-10], [0]]
    found = call("OpFDot2MixAcc32VALVE", F32, (kind, x), (kind, x), (F32, [0]))
    assert found.data[0] == 1 + 2**-9 + 2**-20


def test_bfloat16_adds_to_float32_or_bfloat16():
    rng = np.random.default_rng(2)
    kind = vector(BF16, 2)
    x, y = (dtypes.rounded(rng.integers(-9, 10, (2, N)).astype(np.float32)) for _ in range(2))
    sums = rng.integers(-9, 10, N).astype(np.float32)
    expected = (dtypes.widened(x) * dtypes.widened(y)).sum(axis=0) + sums
    operands = (kind, single(x)), (kind, single(y))
    wide = call("OpFDot2MixAcc32VALVE", F32, *operands, (F32, sums))
    narrow = call("OpFDot2MixAcc16VALVE", BF16, *operands, (BF16, single(dtypes.rounded(sums))))
    assert np.array_equal(wide.data, expected)
    assert np.array_equal(dtypes.widened(narrow.data), expected)


def test_any_undefined_component_makes_the_sum_undefined():
    kind, cause = vector(F16, 2), np.uint16([[0, 0x8001, 0], [0, 0, 0]])
    x = value(kind, np.ones((2, 3)), cause)
    plain = value(kind, np.ones((2, 3)))
    sums = value(F32, np.ones(3), np.uint16([0, 0, 0x8001]))
    found = call("OpFDot2MixAcc32VALVE", F32, (kind, plain), (kind, x), (F32, sums))
    assert undefined(found).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", [vector(F64, 2), vector(ScalarType("Float8E4M3EXT", 8), 4)])
def test_other_numbers_are_unsupported(kind):
    one = single(np.ones((kind.count, 1)))
    with pytest.raises(Unsupported, match="OpFDot4MixAcc32VALVE"):
        call("OpFDot4MixAcc32VALVE", F32, (kind, one), (kind, one), (F32, [0]))


def test_a_shader_that_requests_the_instruction_with_spirv_intrinsics():
    x, s = np.arange(10, dtype=np.float16).reshape(5, 2), np.float32([1, 2, 3, 4])
    with vkgroup.open("reference") as device:
        found = device.run(_SHADER, 1, {"X": x, "S": s})["S"]
    products = x[:-1].astype(np.float32) * x[1:].astype(np.float32)
    assert np.array_equal(found, products.sum(axis=1) + s)

"""NumPy's types of the scalar types in `vkgroup.spec.types`, and the encodings of floats that NumPy lacks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.spec.types import Scalar

_KINDS = {"float": "f", "int": "i", "uint": "u"}

_QUIET = np.uint16(0x0040)

BFLOAT16, E4M3, E5M2 = "BFloat16KHR", "Float8E4M3EXT", "Float8E5M2EXT"
ENCODINGS = frozenset({BFLOAT16, E4M3, E5M2})
"""SPIR-V's names of the FP encodings that NumPy lacks."""
FLOAT8 = frozenset({E4M3, E5M2})


def dtype_of(scalar: Scalar) -> np.dtype[np.generic]:
    """Return NumPy's type for values of a scalar type: ``np.bool_`` for bool."""
    if scalar.kind == "bool":
        return np.dtype(np.bool_)
    return np.dtype(f"{_KINDS[scalar.kind]}{scalar.bits // 8}")


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the numbers with these bits; every bfloat16 is a float32.

    `bits`: uint16, of any shape.
    """
    return np.ascontiguousarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def rounded(numbers: NDArray[Any]) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16; ties round to even, and a NaN stays a NaN.

    `numbers`: float16, float32 or float64, of any shape. Wider and narrower types are first converted to
    float32, rounded to odd, which avoids double rounding.
    """
    single = numbers.astype(np.float32)
    if numbers.dtype == np.float64:
        single = _to_odd(numbers, single)
    word = single.view(np.uint32).astype(np.uint64)
    upper = word >> np.uint64(16)
    nearest = (word + np.uint64(0x7FFF) + (upper & np.uint64(1))) >> np.uint64(16)
    nan = np.isnan(single)
    return np.where(nan, upper.astype(np.uint16) | _QUIET, nearest.astype(np.uint16)).astype(np.uint16)


def _to_odd(numbers: NDArray[np.float64], nearest: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32 rounded to odd: towards zero, with the last bit set where the number is inexact."""
    back = nearest.astype(np.float64)
    word = nearest.view(np.uint32)
    inexact = (back != numbers) & np.isfinite(numbers)
    truncated = np.where(np.abs(back) > np.abs(numbers), word - np.uint32(1), word)
    return np.where(inexact, truncated | np.uint32(1), word).astype(np.uint32).view(np.float32)


def decoded(encoding: str, bits: NDArray[Any]) -> NDArray[np.float32]:
    """Return the numbers with these bits; float32 has every number of the encodings.

    `encoding`: of `ENCODINGS`. `bits`: uint16 of bfloat16, else uint8, of any shape.
    """
    return widened(bits) if encoding == BFLOAT16 else _numbers_of(encoding)[bits]


def encoded(encoding: str, numbers: NDArray[Any], *, saturated: bool = False) -> NDArray[Any]:
    """Return the bits of the nearest numbers of an encoding; ties round to even, and a NaN stays a NaN.

    SPV_EXT_float8, Conversion Instructions: "out-of-range values and infinity are converted to largest
    representable finite value with a matching sign if the conversion is decorated with
    SaturatedToLargestFloat8NormalConversionEXT, otherwise they are converted to NaN if the destination type
    uses the Float8E4M3EXT FP encoding or infinity with a matching sign if the destination type uses the
    Float8E5M2EXT FP encoding." A value counts as out of range if it is after it was rounded.

    `encoding`: of `ENCODINGS`. `numbers`: float16, float32 or float64, of any shape. `saturated`: whether a
    conversion to a float of 8 bits has that decoration.
    """
    if encoding == BFLOAT16:
        return rounded(numbers)
    finite = _numbers_of(encoding)[: _FIRST_SPECIAL[encoding]].astype(np.float64)
    beyond = 2 * finite[-1] - finite[-2]
    middles = (finite + np.append(finite[1:], beyond)) / 2
    size = np.abs(numbers).astype(np.float64)
    low, high = np.searchsorted(middles, size), np.searchsorted(middles, size, side="right")
    code = np.where(low % 2 == 0, low, high)  # they differ between two numbers only
    if saturated:
        code = np.minimum(code, len(finite) - 1)
    code = np.where(np.isnan(numbers), 0x7F, np.minimum(code, _FIRST_SPECIAL[encoding]))
    return (code | np.where(np.signbit(numbers), 0x80, 0)).astype(np.uint8)


_FIRST_SPECIAL = {E4M3: 0x7F, E5M2: 0x7C}
"""The bits after those of the largest number: NaN, or infinity."""


@cache
def _numbers_of(encoding: str) -> NDArray[np.float32]:
    """Return the numbers of all bits of a float of 8 bits ("FP8 Formats For Deep Learning", table 1)."""
    digits = 3 if encoding == E4M3 else 2
    bias = 7 if encoding == E4M3 else 15
    bits = np.arange(128)
    exponent, fraction = bits >> digits, (bits & (1 << digits) - 1) / (1 << digits)
    numbers = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent - bias))
    first = _FIRST_SPECIAL[encoding]
    numbers[first:] = np.nan
    if encoding == E5M2:
        numbers[first] = np.inf
    return np.concatenate([numbers, -numbers]).astype(np.float32)

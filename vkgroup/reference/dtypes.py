"""NumPy's types of the scalar types in `vkgroup.spec.types`, and the type bfloat16, which NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.spec.types import Scalar

_KINDS = {"float": "f", "int": "i", "uint": "u"}

_QUIET = np.uint16(0x0040)


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

"""Sums and products of floats with their exact errors, and a fused multiply-add that is rounded once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Data = npt.NDArray[Any]

_SPLITTER = 2.0**27 + 1
_SMALL, _LARGE = 2.0**-960, 2.0**980  # products of float64 between these limits have exact errors


def fma(a: Data, b: Data, c: Data) -> Data:
    """Return a * b + c, rounded once. All are of one floating-point type; shapes broadcast."""
    if a.dtype == np.float64:
        return _fma64(a, b, c)
    # The product of two significands of 24 bits is exact in the 53 of float64.
    product = a.astype(np.float64) * b.astype(np.float64)
    return add_to_odd(product, c.astype(np.float64)).astype(a.dtype)


def two_sum(a: Data, b: Data) -> tuple[Data, Data]:
    """Return a + b rounded, and its exact error (Knuth)."""
    total = a + b
    added = total - a
    return total, (a - (total - added)) + (b - added)


def two_product(a: Data, b: Data) -> tuple[Data, Data]:
    """Return a * b rounded, and its exact error (Dekker, with Veltkamp's splitting)."""
    product = a * b
    a_scaled, b_scaled = a * _SPLITTER, b * _SPLITTER
    a_high, b_high = a_scaled - (a_scaled - a), b_scaled - (b_scaled - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def add_to_odd(a: Data, b: Data) -> Data:
    """Return a + b of float64, with an inexact sum rounded to odd: to the neighbour whose last bit is one."""
    total, lost = two_sum(a, b)
    bits = total.view(np.int64)
    # One step away from zero if the sum was rounded towards zero, one step back if away from it. Infinite or
    # undefined sums stay unchanged: their error is not above zero.
    step = ((bits ^ lost.view(np.int64)) >> 63) | 1
    step &= -(np.abs(lost) > 0).astype(np.int64)
    step &= (bits & 1) - 1
    return (bits + step).view(np.float64)


def _fma64(a: Data, b: Data, c: Data) -> Data:
    product, product_lost = two_product(a, b)
    low_sum, low_lost = two_sum(c, product_lost)
    high, high_lost = two_sum(product, low_sum)
    result = np.asarray(high + add_to_odd(low_lost, high_lost))
    size = np.abs(product)
    regular = (size >= _SMALL) & (size <= _LARGE) & (np.abs(c) <= _LARGE)
    regular &= (np.abs(a) <= _LARGE) & (np.abs(b) <= _LARGE)
    if not regular.all():
        _repair(result, np.nonzero(~regular), *np.broadcast_arrays(a, b, c))
    return result


def _repair(result: Data, indices: tuple[Data, ...], a: Data, b: Data, c: Data) -> None:
    """Compute some elements of `result` again, in rational numbers where they are not exact."""
    a, b, c = a[indices], b[indices], c[indices]
    fixed = a * b + c  # exact if an operand is zero, infinite or NaN
    inexact = (a != 0) & (b != 0) & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for index in np.nonzero(inexact)[0]:
        exact = Fraction(float(a[index])) * Fraction(float(b[index])) + Fraction(float(c[index]))
        try:
            fixed[index] = float(exact)
        except OverflowError:
            fixed[index] = np.inf if exact > 0 else -np.inf
    result[indices] = fixed

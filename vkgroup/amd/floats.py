"""Arithmetic of floats under a MODE register: rounding, denormals, results of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.base.exact import add_to_odd, fma

_SIGN = {2: 0x8000, 4: 0x8000_0000, 8: 0x8000_0000_0000_0000}
_SMALLEST_NORMAL = {2: 0x0400, 4: 0x0080_0000, 8: 0x0010_0000_0000_0000}
_INFINITY = {2: 0x7C00, 4: 0x7F80_0000, 8: 0x7FF0_0000_0000_0000}
NEAREST, UP, DOWN, ZERO = range(4)


def bits(values: Array) -> Array:
    """Return floats as unsigned integers of their size."""
    return values.view(f"u{values.dtype.itemsize}")


def without_denormals(values: Array) -> Array:
    """Return floats with zeros of the same sign in place of denormals."""
    size = values.dtype.itemsize
    unsigned = bits(values)
    kind = unsigned.dtype.type
    magnitude = unsigned & kind(_SIGN[size] - 1)
    small = (magnitude < kind(_SMALLEST_NORMAL[size])) & (magnitude != 0)
    if not small.any():
        return values
    return np.where(small, unsigned & kind(_SIGN[size]), unsigned).view(values.dtype)


def rounding(mode: int, dtype: np.dtype[Any]) -> int:
    """Return the rounding of a type: nearest even, up, down, or towards zero."""
    return mode & 3 if dtype.itemsize == 4 else mode >> 2 & 3


def flushes(mode: int, dtype: np.dtype[Any]) -> tuple[bool, bool]:
    """Return whether denormal sources and results become zero."""
    allowed = mode >> 4 & 3 if dtype.itemsize == 4 else mode >> 6 & 3
    return not allowed & 1, not allowed & 2


def directed(wide: Array, dtype: np.dtype[Any], direction: int) -> Array:
    """Return exact or rounded-to-odd float64 numbers, rounded in a direction to a smaller type."""
    nearest = wide.astype(dtype)
    if direction == NEAREST:
        return nearest
    back = nearest.astype(np.float64)
    if direction == ZERO:
        wrong = np.abs(back) > np.abs(wide)
    else:
        wrong = back < wide if direction == UP else back > wide
    if direction == UP:
        away = np.nextafter(nearest, dtype.type(np.inf))
    elif direction == DOWN:
        away = np.nextafter(nearest, dtype.type(-np.inf))
    else:
        away = np.nextafter(nearest, dtype.type(0))
    return np.where(wrong & np.isfinite(wide), away, nearest)


def add(mode: int, a: Array, b: Array) -> Array:
    """Return a + b."""
    if rounding(mode, a.dtype) == NEAREST:
        return np.asarray(a + b)
    if a.dtype.itemsize == 8:
        raise MissingPart("64-bit floats that are not rounded to nearest")
    return directed(add_to_odd(*map(_wide, np.broadcast_arrays(a, b))), a.dtype, rounding(mode, a.dtype))


def multiply(mode: int, a: Array, b: Array) -> Array:
    """Return a * b."""
    if rounding(mode, a.dtype) == NEAREST:
        return np.asarray(a * b)
    if a.dtype.itemsize == 8:
        raise MissingPart("64-bit floats that are not rounded to nearest")
    return directed(_wide(a) * _wide(b), a.dtype, rounding(mode, a.dtype))


def multiply_add(mode: int, a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, rounded once."""
    a, b, c = np.broadcast_arrays(a, b, c)
    if rounding(mode, a.dtype) == NEAREST and a.dtype.itemsize > 2:
        return np.asarray(fma(a, b, c))
    if a.dtype.itemsize == 8:
        raise MissingPart("64-bit floats that are not rounded to nearest")
    wide = add_to_odd(_wide(a) * _wide(b), _wide(c))
    return directed(wide, a.dtype, rounding(mode, a.dtype))


def _wide(values: Array) -> Array:
    return values.astype(np.float64)


def narrow(mode: int, values: Array, dtype: np.dtype[Any]) -> Array:
    """Return floats converted to a smaller type."""
    direction = rounding(mode, dtype)
    if direction == NEAREST:
        return values.astype(dtype)
    return directed(_wide(values), dtype, direction)


def from_integer(mode: int, values: Array, dtype: np.dtype[Any]) -> Array:
    """Return integers of up to 32 bits converted to floats."""
    if dtype.itemsize == 8:
        return values.astype(np.float64)
    return directed(_wide(values), dtype, rounding(mode, dtype))


def to_integer(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return floats towards zero as integers: those out of range saturate, NaN is 0."""
    limits = np.iinfo(dtype)
    wide = np.trunc(_wide(values))
    wide = np.where(np.isnan(wide), 0, np.clip(wide, float(limits.min), float(limits.max)))
    if limits.max > 2**53:
        return np.where(wide >= float(limits.max), limits.max, wide.astype(dtype))
    return wide.astype(dtype)


def minimum(a: Array, b: Array) -> Array:
    """Return the smaller number: -0 is smaller than +0, a number smaller than NaN."""
    a, b = np.broadcast_arrays(a, b)
    chosen = np.where((a < b) | np.isnan(b) | ((a == b) & np.signbit(a)), a, b)
    return np.asarray(chosen)


def maximum(a: Array, b: Array) -> Array:
    """Return the larger number: +0 is larger than -0, a number larger than NaN."""
    a, b = np.broadcast_arrays(a, b)
    chosen = np.where((a > b) | np.isnan(b) | ((a == b) & ~np.signbit(a)), a, b)
    return np.asarray(chosen)


def median(a: Array, b: Array, c: Array) -> Array:
    """Return the middle one of three numbers; the smallest one if one is NaN."""
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    any_nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(any_nan, minimum(minimum(a, b), c), middle)


def exactly(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of floats that is computed in float64 and rounded to the type of its first source."""

    def compute(mode: int, *sources: Array) -> Array:
        wide = function(*(_wide(source) for source in sources))
        return np.asarray(wide).astype(sources[0].dtype)

    return compute


def load_exponent(a: Array, exponent: Array) -> Array:
    """Return a * 2**exponent."""
    size = a.dtype.itemsize
    limit = 5000 if size == 8 else 600
    wide = a.astype(np.longdouble if size == 8 else np.float64)
    return np.ldexp(wide, np.clip(exponent, -limit, limit)).astype(a.dtype)


def mantissa(a: Array) -> Array:
    """Return the significand in [0.5, 1); infinities and NaN unchanged."""
    significands: Array = np.frexp(a)[0]
    result: Array = np.where(np.isfinite(a), significands, a)
    return result.astype(a.dtype)


def exponent(a: Array) -> Array:
    """Return the exponent of the significand in [0.5, 1), int32; 0 of infinities and NaN."""
    exponents: Array = np.frexp(a)[1]
    result: Array = np.where(np.isfinite(a), exponents, 0)
    return result.astype(np.int32)


def sine_of_turns(x: Array) -> Array:
    """Return sin(2 pi x), exact at quarters of a turn; NaN of infinities."""
    turn = x - np.floor(x)
    return np.where(turn % 0.5 == 0, np.copysign(0.0, x), np.sin(2 * np.pi * turn))


def cosine_of_turns(x: Array) -> Array:
    """Return cos(2 pi x); NaN of infinities."""
    turn = np.abs(x) - np.floor(np.abs(x))
    return np.where(turn % 0.5 == 0.25, 0.0, np.cos(2 * np.pi * turn))


def fraction(a: Array) -> Array:
    """Return a - floor(a), below 1."""
    below = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.where(np.isnan(a) | np.isinf(a), np.nan, np.minimum(a - np.floor(a), below)).astype(a.dtype)


def is_class(a: Array, wanted: Array) -> Array:
    """Return whether the class of a float is in a mask of 10 bits, as ``v_cmp_class`` numbers them."""
    size = a.dtype.itemsize
    unsigned = bits(a)
    kind = unsigned.dtype.type
    magnitude = unsigned & kind(_SIGN[size] - 1)
    negative = (unsigned & kind(_SIGN[size])) != 0
    quiet = (unsigned & kind(_SMALLEST_NORMAL[size] >> 1)) != 0
    infinity, normal = kind(_INFINITY[size]), kind(_SMALLEST_NORMAL[size])
    number = np.select(
        [magnitude > infinity, magnitude == infinity, magnitude >= normal, magnitude > 0],
        [np.where(quiet, 1, 0), np.where(negative, 2, 9), np.where(negative, 3, 8), np.where(negative, 4, 7)],
        np.where(negative, 5, 6),
    )
    return np.asarray((wanted.astype(np.uint32) >> number.astype(np.uint32)) & 1, np.bool_)

"""Keys: unsigned integers in the same order as elements; see ``kernels/include/elements.glsl``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.kernels.types import glsl_type

Keys = npt.NDArray[np.uint64]

_KINDS = {"u": "UNSIGNED", "i": "SIGNED", "f": "FLOATING"}


def macros(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros `BITS` and `KIND`; raise `InvalidDispatch` if kernels do not support the dtype."""
    glsl_type(dtype)
    return {"BITS": 8 * dtype.itemsize, "KIND": _KINDS[dtype.kind]}


def key_words(dtype: np.dtype[Any], key: int) -> int | list[int]:
    """Return a key as push constants: one word, or two words for elements of 64 bits."""
    return [key & 0xFFFFFFFF, key >> 32] if dtype.itemsize == 8 else key


def key_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of an element's key in memory: uint32, or uint64 for elements of 64 bits."""
    return np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)


def keys_of(elements: npt.NDArray[Any]) -> Keys:
    """Return the keys of elements, as uint64.

    Integers of fewer than 32 bits have the same keys as 32-bit integers of equal value; 16-bit floats have
    16-bit keys.
    """
    dtype = elements.dtype
    if dtype.kind == "u":
        return elements.astype(np.uint64)
    if dtype.kind == "i":
        bits = 64 if dtype.itemsize == 8 else 32
        return elements.astype(np.int64).view(np.uint64) + np.uint64(1 << (bits - 1)) & np.uint64(
            (1 << bits) - 1
        )
    bits = 8 * dtype.itemsize
    raw = np.ascontiguousarray(elements).view(f"u{dtype.itemsize}").astype(np.uint64)
    sign = np.uint64(1 << (bits - 1))
    return np.where(raw & sign, raw ^ np.uint64((1 << bits) - 1), raw | sign)


def least_not_below(dtype: np.dtype[Any], bounds: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    """Return the least value of a dtype that is not below each bound, and the number of these values.

    The bounds are ascending. Bounds above all values of the dtype have none; they are at the end.
    """
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if bounds.dtype.kind in "iu":
            exact = [int(bound) for bound in bounds if int(bound) <= limits.max]
            return np.array([max(bound, int(limits.min)) for bound in exact], dtype), len(exact)
        whole = np.ceil(bounds.astype(np.float64))
        # The greatest value plus one is a power of two, which is exact as a float.
        reachable = int(np.searchsorted(whole >= float(int(limits.max) + 1), True))
        return np.maximum(whole[:reachable], float(limits.min)).astype(dtype), reachable
    with np.errstate(over="ignore"):
        elements = bounds.astype(dtype)
        elements = np.where(elements < bounds, np.nextafter(elements, dtype.type(np.inf)), elements)
    return np.where(elements == 0, dtype.type(-0.0), elements).astype(dtype), len(bounds)


def greatest_not_above(dtype: np.dtype[Any], bound: Any) -> npt.NDArray[Any]:
    """Return the greatest value of a dtype that is not above a bound, as an array of one or no element."""
    bounds = np.array([bound])
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        whole = bounds if bounds.dtype.kind in "iu" else np.floor(bounds.astype(np.float64))
        number = whole[0] if np.isinf(whole[0]) else int(whole[0])
        if number > limits.max:
            return np.array([limits.max], dtype)
        return np.array([number] if number >= limits.min else [], dtype)
    with np.errstate(over="ignore"):
        elements = bounds.astype(dtype)
        elements = np.where(elements > bounds, np.nextafter(elements, dtype.type(-np.inf)), elements)
    return np.where(elements == 0, dtype.type(0.0), elements).astype(dtype)

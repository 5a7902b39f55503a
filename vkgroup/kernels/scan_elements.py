"""Macros of the scans in ``kernels/scan`` for each operation and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

_TYPES = {
    np.dtype(np.float32): ("float", "vec4"),
    np.dtype(np.uint32): ("uint", "uvec4"),
    np.dtype(np.int32): ("int", "ivec4"),
    np.dtype(np.float64): ("double", "dvec2"),
    np.dtype(np.uint64): ("uint64_t", "u64vec2"),
    np.dtype(np.int64): ("int64_t", "i64vec2"),
}


def macros_of(operation: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros of ``kernels/scan/operation.glsl``.

    Floats are compared by keys made of their bits: NaN, denormals and zeros are then what NumPy makes of
    them, whatever the device's float instructions do. Halves are added and multiplied as float32, and every
    result is rounded once.
    """
    computed, half, keys = dtype, dtype == np.float16, False
    if dtype.kind == "f" and operation in ("min", "max"):
        computed, keys = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32), True
    elif half:
        computed = np.dtype(np.float32)
    name, vector = _TYPES[computed]
    return {
        "T": name,
        "V": vector,
        "T_BITS": computed.itemsize * 8,
        "T_FLOAT": int(computed.kind == "f"),
        "OPERATION": operation.upper(),
        "HALF": int(half),
        "KEYS": int(keys),
    }


def width_of(dtype: np.dtype[Any]) -> int:
    """Return how many elements a vector has."""
    return 2 if dtype.itemsize == 8 else 4

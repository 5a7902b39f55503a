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

    Floats are compared by integer keys made of their bits. NaNs, denormal numbers and zeros are then handled
    as in NumPy, independently of the device's float instructions. float16 is added and multiplied in float32,
    and every result is rounded once.
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
    """Return the number of elements of a vector."""
    return 2 if dtype.itemsize == 8 else 4

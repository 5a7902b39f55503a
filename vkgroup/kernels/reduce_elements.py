"""Macros of the reductions in ``kernels/reduce`` for each operation and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.kernels.types import GLSL, OPERATIONS, check_operation

ARG_OPERATIONS = ("argmin", "argmax")
"""Operations whose result is an index."""

INDEX = np.dtype(np.int64)
"""Result type of argmin and argmax, as in NumPy."""

_VECTORS = {
    "float": "vec4",
    "uint": "uvec4",
    "int": "ivec4",
    "double": "dvec4",
    "uint64_t": "u64vec4",
    "int64_t": "i64vec4",
    "float16_t": "f16vec4",
    "int16_t": "i16vec4",
}


def checked_dtype(operation: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of an operation's result, after checking that a kernel supports the operation.

    Raises
    ------
    InvalidDispatch
        The operation does not exist, or does not support the dtype.
    """
    check_operation("reduction", operation, dtype, (*OPERATIONS, *ARG_OPERATIONS))
    return INDEX if operation in ARG_OPERATIONS else dtype


def vectors(glsl: str) -> str:
    """Return the GLSL type of a vector of four elements."""
    return _VECTORS[glsl]


def macros_of(operation: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros of ``kernels/reduce/operation.glsl``.

    Floats are compared by integer keys made of their bits. NaNs, denormal numbers and zeros are then handled
    as in NumPy, independently of the device's float instructions.
    """
    arg = operation in ARG_OPERATIONS
    compared = arg or operation in ("min", "max")
    if compared and dtype.kind == "f":
        bits = dtype.itemsize * 8
        wide = 64 if bits == 64 else 32
        signed, unsigned = ("int64_t", "uint64_t") if wide == 64 else ("int", "uint")
        element = {16: "int16_t", 32: "int", 64: "int64_t"}[bits]
        return {
            **_element(element, bits, False),
            **_computed(unsigned, wide),
            "S": signed,
            "S4": vectors(signed),
            "R": element,
            "KEY_BITS": bits,
            "OPERATION": "MAX",
            "REVERSE": int(operation in ("min", "argmin")),
            "ARG": int(arg),
        }
    name = GLSL[dtype]
    # float16 is added and multiplied in float32, and rounded once at the end.
    computed = "float" if name == "float16_t" else name
    return {
        **_element(name, dtype.itemsize * 8, dtype.kind == "f"),
        **_computed(computed, dtype.itemsize * 8 if dtype.kind != "f" else 32),
        "R": name,
        "OPERATION": "MAX" if arg else operation.upper(),
        "REVERSE": int(operation == "argmin"),
        "ARG": int(arg),
    }


def state_bytes(operation: str, dtype: np.dtype[Any]) -> int:
    """Return the size in bytes of the state that a part of a row stores."""
    return 8 if dtype.itemsize == 8 else 4


def _element(name: str, bits: int, floating: bool) -> dict[str, Any]:
    return {"T": name, "T4": vectors(name), "T_BITS": bits, "T_FLOAT": int(floating)}


def _computed(name: str, bits: int) -> dict[str, Any]:
    return {"A": name, "A4": vectors(name), "A_BITS": bits}

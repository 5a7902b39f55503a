"""Dtypes and shapes as arguments, and GLSL's names of NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidDispatch

GLSL: dict[np.dtype[Any], str] = {
    np.dtype(kind): name
    for kind, name in (
        (np.float32, "float"),
        (np.uint32, "uint"),
        (np.int32, "int"),
        (np.float64, "double"),
        (np.uint64, "uint64_t"),
        (np.int64, "int64_t"),
        (np.float16, "float16_t"),
        (np.uint16, "uint16_t"),
        (np.int16, "int16_t"),
        (np.uint8, "uint8_t"),
        (np.int8, "int8_t"),
    )
}
"""Types of elements (GL_EXT_shader_explicit_arithmetic_types for those of other than 32 bits)."""


def dtype_of(given: npt.DTypeLike) -> np.dtype[Any]:
    """Return an argument as a dtype.

    Raises
    ------
    InvalidDispatch
        NumPy has no such dtype.
    """
    try:
        return np.dtype(given)
    except (TypeError, ValueError) as error:
        raise InvalidDispatch(f"dtype is one of NumPy's, as np.float32; {given!r} was given.") from error


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape, or the number of elements, as a tuple.

    Raises
    ------
    InvalidDispatch
        It is no whole number and no tuple or list of such, or one is negative.
    """
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or size < 0:
            raise InvalidDispatch(f"A shape is whole numbers that are not negative; {shape!r} was given.")
    return tuple(int(size) for size in sizes)

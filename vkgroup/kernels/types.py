"""Checks of dtypes, shapes and operations, and the GLSL types of NumPy's dtypes."""

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
"""GLSL types of elements; sizes other than 32 bits need GL_EXT_shader_explicit_arithmetic_types."""


def dtype_of(given: npt.DTypeLike) -> np.dtype[Any]:
    """Convert an argument to a NumPy dtype.

    Raises
    ------
    InvalidDispatch
        NumPy does not have the dtype.
    """
    try:
        return np.dtype(given)
    except (TypeError, ValueError) as error:
        raise InvalidDispatch(
            f"dtype must be a NumPy dtype such as np.float32; {given!r} was given."
        ) from error


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape, or the number of elements, as a tuple.

    Raises
    ------
    InvalidDispatch
        The shape is not an integer or a tuple or list of integers, or a size is negative.
    """
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or size < 0:
            raise InvalidDispatch(
                f"A shape must consist of whole numbers that are not negative; {shape!r} was given."
            )
    return tuple(int(size) for size in sizes)


OPERATIONS = ("add", "mul", "min", "max", "and", "or", "xor")
"""Binary operations; the last three are for integers only."""

NUMBERS = tuple(
    np.dtype(kind) for kind in (np.float32, np.uint32, np.int32, np.float64, np.uint64, np.int64, np.float16)
)
"""Types of elements that reductions and scans support."""


def check_operation(
    what: str, operation: str, dtype: np.dtype[Any], operations: tuple[str, ...] = OPERATIONS
) -> None:
    """Raise `InvalidDispatch` if an operation does not exist or does not support a dtype.

    Parameters
    ----------
    what : the kind of algorithm, such as ``"scan"``.
    operations : the operations that exist.

    Raises
    ------
    InvalidDispatch
        The operation does not exist, or does not support the dtype.
    """
    if operation not in operations:
        raise InvalidDispatch(f"There is no {what} {operation!r}; there are {', '.join(operations)}.")
    bitwise = operation in ("and", "or", "xor")
    known = [kind for kind in NUMBERS if not (bitwise and kind.kind == "f")]
    if dtype not in known:
        names = ", ".join(map(str, known))
        raise InvalidDispatch(
            f"The {what} {operation!r} works on {names}; {dtype} was given. Convert it with .astype."
        )

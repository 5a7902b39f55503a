"""Checks of dtypes, shapes and operations, and the GLSL types of NumPy's dtypes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.suggestions import suggestion
from vkgroup.spec.types import SCALARS

GLSL: dict[np.dtype[Any], str] = {
    np.dtype(f"{scalar.kind[0]}{scalar.bits // 8}"): scalar.name
    for scalar in SCALARS.values()
    if scalar.kind != "bool"
}
"""GLSL types of elements; sizes other than 32 bits need GL_EXT_shader_explicit_arithmetic_types."""

OPERATIONS = ("add", "mul", "min", "max", "and", "or", "xor")
"""Binary operations; the last three are for integers only."""

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
"""Comparisons with a number that select elements."""

NUMBERS = tuple(
    np.dtype(kind) for kind in (np.float32, np.uint32, np.int32, np.float64, np.uint64, np.int64, np.float16)
)
"""Types of elements that reductions and scans support."""


def dtype_of(given: npt.DTypeLike) -> np.dtype[Any]:
    """Convert an argument to a NumPy dtype; raise `InvalidDispatch` if NumPy does not have it."""
    try:
        return np.dtype(given)
    except (TypeError, ValueError) as error:
        raise InvalidDispatch(
            f"dtype must be a NumPy dtype such as np.float32; {given!r} was given."
        ) from error


def glsl_type(dtype: np.dtype[Any]) -> str:
    """Return the GLSL type of a dtype; raise `InvalidDispatch` if kernels do not support it."""
    if dtype not in GLSL:
        known = ", ".join(map(str, GLSL))
        raise InvalidDispatch(f"Kernels work on {known}; {dtype} was given. Convert it with .astype.")
    return GLSL[dtype]


def vector_type(glsl: str, components: int = 4) -> str:
    """Return the GLSL type of a vector of a scalar type."""
    return f"{SCALARS[glsl].vector_prefix}{components}"


def type_macros(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the macros `T`, `T_BITS` and `T_FLOAT` of ``kernels/include/kernel.glsl`` for a dtype."""
    return {"T": glsl_type(dtype), "T_BITS": dtype.itemsize * 8, "T_FLOAT": int(dtype.kind == "f")}


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer of Python or NumPy, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape, or the number of elements, as a tuple; raise `InvalidDispatch` if it is neither."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not all(is_whole(size) and size >= 0 for size in sizes):
        raise InvalidDispatch(
            f"A shape must consist of whole numbers that are not negative; {shape!r} was given."
        )
    return tuple(int(size) for size in sizes)


def element_count(shape: Any) -> int:
    """Return the number of elements of a plan's input; raise `InvalidDispatch` if 32 bits cannot count it."""
    count = math.prod(sizes_of(shape))
    if not 0 < count < 2**32:
        raise InvalidDispatch(f"A plan takes 1 to 2**32 - 1 elements; {count} were given.")
    return count


def check_axis(axis: Any, rank: int) -> None:
    """Raise `InvalidDispatch` if an array of `rank` axes does not have the axis."""
    if not (is_whole(axis) and -rank <= axis < rank):
        raise InvalidDispatch(f"axis {axis!r} does not exist in an array of {rank} axes.")


def check_operation(
    algorithm: str, operation: str, dtype: np.dtype[Any], operations: tuple[str, ...] = OPERATIONS
) -> None:
    """Raise `InvalidDispatch` if an algorithm has no such operation, or does not support the dtype."""
    if operation not in operations:
        raise InvalidDispatch(f"There is no {algorithm} {operation!r}.{suggestion(operation, operations)}")
    bitwise = operation in ("and", "or", "xor")
    known = [kind for kind in NUMBERS if not (bitwise and kind.kind == "f")]
    if dtype not in known:
        names = ", ".join(map(str, known))
        raise InvalidDispatch(
            f"The {algorithm} {operation!r} works on {names}; {dtype} was given. Convert it with .astype."
        )


@dataclass(frozen=True)
class ImageExtent:
    """The size of an image in texels, and its number of components: 1 or 4."""

    height: int
    width: int
    components: int

    @property
    def texel(self) -> str:
        """GLSL's type of a texel."""
        return "float" if self.components == 1 else "vec4"


def image_extent(dtype: npt.DTypeLike, shape: tuple[int, ...]) -> ImageExtent:
    """Return the size of an image array; raise `InvalidDispatch` if it has not the dtype and shape of one."""
    kind = dtype_of(dtype)
    if kind != np.float32:
        raise InvalidDispatch(
            f"Images must be float32; {kind} was given. Convert it with .astype(np.float32)."
        )
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 4)):
        raise InvalidDispatch(
            f"An image must have the shape (height, width), or (height, width, 1 or 4); {tuple(shape)}"
            " was given."
        )
    return ImageExtent(int(shape[0]), int(shape[1]), int(shape[2]) if len(shape) == 3 else 1)

"""Numbers of Python as arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.masks import refuse_mask


def as_numbers(value: Any) -> npt.NDArray[Any]:
    """Return a value as an array; integers of more than 64 bits, which NumPy has no type for, as float64.

    The dtype stays ``object`` where a value is no number, or over the largest float64.

    Raises ValueError: the rows of lists differ in length.
    """
    given = np.asarray(value)
    if given.dtype.hasobject and all(isinstance(item, int) for item in given.flat):
        try:
            return given.astype(np.float64)
        except OverflowError:
            return given
    return given


def shortest(number: Any) -> str:
    """Return a number with the fewest digits that identify it: ``0.1`` for the float32 0.10000000149.

    NumPy's `str` does so; its formats and `tolist` give the digits of a double. A float of Python that is
    exactly a float32 has the digits of one.
    """
    if type(number) is float:
        with np.errstate(over="ignore"):
            single = np.float32(number)
        number = single if float(single) == number else number
    return str(number)


def rounded_floats(
    given: npt.NDArray[Any], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return numbers as floats of a type, and which of them became infinite: those out of its range."""
    with np.errstate(over="ignore"):
        rounded = given.astype(dtype)
    return rounded, np.isinf(rounded) & np.isfinite(given)


def exact_numbers(value: Any, dtype: np.dtype[Any], what: str) -> npt.NDArray[Any]:
    """Convert numbers without changing them: nothing out of range, no fraction cut off, no mask lost."""
    refuse_mask(value, what)
    try:
        given = as_numbers(value)
    except ValueError as error:
        raise InvalidDispatch(f"{what}: {error}") from None
    if given.dtype.kind not in "biuf":
        raise InvalidDispatch(f"{what} takes numbers of type {dtype.name}; {value!r} was given.")
    if dtype.kind == "f":
        rounded, beyond = rounded_floats(given, dtype)
        if beyond.any():
            raise InvalidDispatch(
                f"{what} takes {dtype.name}, whose largest number is {np.finfo(dtype).max}, but the value is"
                f" {value!r}. Give float('inf') if you mean infinity."
            )
        return rounded
    with np.errstate(invalid="ignore"):
        result = given.astype(dtype)
    if not np.array_equal(result.astype(object), given.astype(object)):
        raise InvalidDispatch(f"{what} takes {dtype.name}, but the value is {value!r}.")
    return result

"""Scans as in NumPy: cumsum, cumprod, maximum.accumulate and minimum.accumulate, and the general scan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.grid import parts
from vkgroup.kernels.scan_plan import check_axis, plan_scan
from vkgroup.kernels.types import check_operation


def cumsum(
    x: Given, axis: int | None = None, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Add up the elements up to each one; as `numpy.cumsum`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    axis : an axis, or None for all elements in C order.
    device : where to run; None takes the buffer's, or the best device.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array of the shape of `x` (of one dimension without `axis`), or a buffer where `x` is one. The dtype is
    that of `x`: unlike NumPy's, sums of uint32 and int32 wrap around at 32 bits. Halves are added as float32,
    and each result is rounded once.

    On one device, with one tuning, the same call gives the same bits each time: which tile finds which prefix
    first changes no addition. The order is another than NumPy's: ``docs/kernels-scan.md`` bounds the
    difference.

    Raises
    ------
    InvalidDispatch
        There is no such axis, or no scan of that dtype.
    Unsupported
        The device lacks the type, or what the implementation needs.

    Examples
    --------
    >>> vkgroup.kernels.cumsum(np.arange(5, dtype=np.uint32))
    array([ 0,  1,  3,  6, 10], dtype=uint32)
    """
    return scan(x, "add", axis=axis, device=device, implementation=implementation)


def cumprod(
    x: Given, axis: int | None = None, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Multiply the elements up to each one; as `numpy.cumprod`, but for what `cumsum` says."""
    return scan(x, "mul", axis=axis, device=device, implementation=implementation)


def maximum_accumulate(
    x: Given, axis: int | None = 0, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Find the greatest of the elements up to each one; as `numpy.maximum.accumulate`.

    Parameters and errors are those of `cumsum`. From the first NaN on the results are NaN (the quiet NaN with
    all bits of its payload, whichever it was), denormal numbers count, and -0 is below 0.
    """
    return scan(x, "max", axis=axis, device=device, implementation=implementation)


def minimum_accumulate(
    x: Given, axis: int | None = 0, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Find the least of the elements up to each one; as `numpy.minimum.accumulate`.

    Parameters, results and errors are those of `maximum_accumulate`.
    """
    return scan(x, "min", axis=axis, device=device, implementation=implementation)


def scan(
    x: Given,
    operation: str = "add",
    *,
    exclusive: bool = False,
    reverse: bool = False,
    segments: Given | None = None,
    axis: int | None = None,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Combine the elements up to each one by an operation.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``; for integers also ``"and"``, ``"or"``, ``"xor"``.
    exclusive : whether each result leaves its own element out: the first is the operation's identity (for
        ``"min"`` and ``"max"`` of floats infinity and minus infinity).
    reverse : whether to begin with the last element.
    segments : where the scan begins anew: bools, or bytes of which those that are not 0 begin a segment, one
        for each element. With `reverse` it begins anew at the ends of the same segments. A buffer of such
        bytes must have a multiple of four.
    axis : an axis, or None for all elements in C order; not together with `segments`.
    device, implementation : as for `cumsum`.

    Returns
    -------
    As for `cumsum`.

    Raises
    ------
    InvalidDispatch
        No such operation, axis or dtype; the segments do not fit.
    Unsupported
        The device lacks the type, or what the implementation needs.

    Examples
    --------
    >>> vkgroup.kernels.scan(np.ones(5, np.int32), segments=np.array([1, 0, 0, 1, 0], bool))
    array([1, 2, 3, 1, 2], dtype=int32)
    """
    given = {"x": x} if segments is None else {"x": x, "heads": segments}
    arguments = Arguments(device, **given)
    array = arguments["x"]
    check_operation("scan", operation, array.dtype)
    count = math.prod(array.shape)
    if segments is not None:
        arguments.given["heads"] = words_of_bytes(arguments["heads"], count, "segments")
    check_axis(axis, len(array.shape))
    if count == 0:
        return np.empty(0 if axis is None else array.shape, array.dtype)
    plan = plan_scan(
        arguments.device,
        operation,
        array.dtype,
        array.shape,
        axis,
        exclusive=exclusive,
        reverse=reverse,
        segments=segments is not None,
        implementation=implementation,
    )
    (scanned,) = arguments.run(plan, "scanned")
    return _result(scanned)


def _result(found: Any) -> Result:
    result: Result = found
    return result


def words_of_bytes(given: npt.NDArray[Any] | Buffer, count: int, what: str) -> npt.NDArray[Any] | Buffer:
    """Return a byte for each of `count` elements as words of four, filled up with zeros; buffers as they are.

    Raises
    ------
    InvalidDispatch
        There is not one byte for each element; a buffer's bytes are no multiple of four.
    """
    if given.dtype.itemsize != 1 or math.prod(given.shape) != count:
        raise InvalidDispatch(
            f"{what} has a bool or a byte for each of the {count} elements;"
            f" {given.dtype} of shape {tuple(given.shape)} was given."
        )
    if isinstance(given, Buffer):
        if given.nbytes % 4:
            raise InvalidDispatch(
                f"A buffer for {what} is read in words of four bytes; it has {given.nbytes}. Make it larger,"
                " and give the rest of it as a view, or give arrays."
            )
        return given
    padded = np.zeros(4 * parts(count, 4), np.uint8)
    padded[:count] = given.reshape(-1).view(np.uint8)
    return padded.view(np.uint32)

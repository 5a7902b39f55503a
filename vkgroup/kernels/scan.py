"""Scans as in NumPy (cumsum, cumprod, maximum.accumulate, minimum.accumulate), and the general scan."""

from __future__ import annotations

import math

import numpy as np

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.pipelines import parts
from vkgroup.kernels.scan_plan import plan_scan
from vkgroup.kernels.types import check_axis, check_operation


def cumsum(
    x: Given, axis: int | None = None, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the cumulative sums of the elements, as `numpy.cumsum`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    axis : an axis, or None for all elements in C order.

    Returns
    -------
    An array of the shape of `x` (one-dimensional if `axis` is None), or a buffer if `x` is one. The dtype is
    that of `x`: unlike NumPy's, sums of uint32 and int32 wrap around at 32 bits. float16 is added in float32,
    and each result is rounded once.

    On one device, with one tuning, the same call always returns the same bits: the order in which tiles
    publish their prefixes does not change the additions. The order of additions differs from NumPy's;
    ``docs/kernels-scan.md`` bounds the difference.

    Examples
    --------
    >>> vkgroup.kernels.cumsum(np.arange(5, dtype=np.uint32))
    array([ 0,  1,  3,  6, 10], dtype=uint32)
    """
    return scan(x, "add", axis=axis, device=device, implementation=implementation)


def cumprod(
    x: Given, axis: int | None = None, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the cumulative products, as `numpy.cumprod`; `cumsum` describes the differences."""
    return scan(x, "mul", axis=axis, device=device, implementation=implementation)


def maximum_accumulate(
    x: Given, axis: int | None = 0, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the cumulative maxima, as `numpy.maximum.accumulate`.

    Parameters and errors are those of `cumsum`. From the first NaN on, all results are the quiet NaN with all
    bits of its payload set. Denormal numbers are not treated as zeros, and -0 is less than 0.
    """
    return scan(x, "max", axis=axis, device=device, implementation=implementation)


def minimum_accumulate(
    x: Given, axis: int | None = 0, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the cumulative minima, as `numpy.minimum.accumulate`.

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
    """Combine all elements up to each element by an operation.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``; for integers also ``"and"``, ``"or"``, ``"xor"``.
    exclusive : whether each result excludes its own element. The first result is then the operation's
        identity (infinity for ``"min"`` and minus infinity for ``"max"`` of floats).
    reverse : whether to begin with the last element.
    segments : one bool or byte per element; the scan restarts at each nonzero one, which begins a segment.
        With `reverse` the segments are the same, and the scan restarts at their ends. The size of a buffer
        must be a multiple of four bytes.
    axis : an axis, or None for all elements in C order; not together with `segments`.

    Returns
    -------
    As for `cumsum`.

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
    if axis is not None:
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
    return arguments.run(plan, "scanned")[0]


def words_of_bytes(given: Result, count: int, what: str) -> Result:
    """Return one byte per element as words of four bytes, padded with zeros; buffers are not changed."""
    if given.dtype.itemsize != 1 or math.prod(given.shape) != count:
        raise InvalidDispatch(
            f"{what} must have one bool or byte for each of the {count} elements; {given.dtype} of shape"
            f" {tuple(given.shape)} was given."
        )
    if isinstance(given, Buffer):
        if given.nbytes % 4:
            raise InvalidDispatch(
                f"A buffer for {what} is read in words of four bytes; it has {given.nbytes} bytes. Pass"
                " a view of a larger buffer, or pass arrays."
            )
        return given
    padded = np.zeros(4 * parts(count, 4), np.uint8)
    padded[:count] = given.reshape(-1).view(np.uint8)
    return padded.view(np.uint32)

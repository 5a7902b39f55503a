"""Stable compaction: NumPy's compress, nonzero and flatnonzero, compact by a comparison, partition_by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result, as_array
from vkgroup.kernels.compact_plan import plan_compact, where_of
from vkgroup.kernels.scan import words_of_bytes


def compress(mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the elements selected by a mask, in their order, as `numpy.compress` without an axis.

    Parameters
    ----------
    mask : one bool or byte for each element of `x`; a nonzero byte selects its element. The size of a mask
        buffer must be a multiple of four bytes.
    x : array or buffer of elements of 2, 4 or 8 bytes, in C order.

    Returns
    -------
    A one-dimensional array. For buffers a one-dimensional buffer: a view of a larger one that has room for
    all elements. If no element is selected, the result is always an empty array, since Vulkan has no empty
    buffers.

    Examples
    --------
    >>> vkgroup.kernels.compress(np.array([1, 0, 1], bool), np.array([4, 5, 6], np.uint32))
    array([4, 6], dtype=uint32)
    """
    arguments = _masked(device, x, mask)
    return _selected(arguments, arguments["x"], implementation)


def compact(
    x: Given, relation: str, limit: Any, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the elements that satisfy a comparison, in their order, as ``x[x < 0.5]``.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    relation : ``"<"``, ``"<="``, ``">"``, ``">="``, ``"=="`` or ``"!="``.
    limit : a number of the dtype of `x`. The device compares floats, and may treat denormal numbers as zeros.

    Returns
    -------
    As `compress`.

    Examples
    --------
    >>> vkgroup.kernels.compact(np.array([3, 1, 2], np.uint32), "<", 3)
    array([1, 2], dtype=uint32)
    """
    arguments = Arguments(device, x=x)
    array = arguments["x"]
    where_of(relation, limit, array.dtype)
    if relation in ("mask", "nonzero"):
        raise InvalidDispatch(f"relation must be a comparison such as '<'; {relation!r} was given.")
    return _selected(arguments, array, implementation, relation, limit)


def flatnonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the indices, in C order, of the nonzero elements, as `numpy.flatnonzero`.

    Parameters
    ----------
    x : array or buffer of bools, integers or floats, of 1, 2, 4 or 8 bytes. The size of a buffer of 1-byte
        elements must be a multiple of four.

    Returns
    -------
    An int64 array, as NumPy's; for a buffer a uint32 buffer (an array if there are no indices, see
    `compress`).
    """
    arguments = Arguments(device, x=x)
    array = arguments["x"]
    where = "mask" if array.dtype.itemsize == 1 else "nonzero"
    if where == "nonzero":
        where_of("nonzero", None, array.dtype)
    else:
        arguments.given = {"mask": words_of_bytes(array, math.prod(array.shape), "x")}
    indices = _selected(arguments, array, implementation, where, output="indices")
    return indices if isinstance(indices, Buffer) else indices.astype(np.int64)


def nonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> tuple[Result, ...]:
    """Return the indices of the nonzero elements, one array per axis, as `numpy.nonzero`.

    Parameters, results and errors are those of `flatnonzero`. Buffers must have one dimension.
    """
    shape = x.shape if isinstance(x, Buffer) else as_array(x, "x").shape
    if shape == () or (isinstance(x, Buffer) and len(shape) != 1):
        raise InvalidDispatch(
            f"nonzero takes arrays of at least one axis and buffers of one axis; the shape {shape} was"
            " given. Use flatnonzero, which returns indices in C order for every shape."
        )
    indices = flatnonzero(x, device=device, implementation=implementation)
    if isinstance(indices, Buffer):
        return (indices,)
    return tuple(np.unravel_index(indices, shape))


def partition_by(
    mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto"
) -> tuple[Result, int]:
    """Return the elements selected by a mask, followed by all other elements, both in their order.

    Parameters and errors are those of `compress`. The mask is read twice, since the other elements begin at
    an index that depends on the whole mask. The elements are read once.

    Returns
    -------
    All elements in one dimension, as an array or a buffer, and the number of elements that the mask selects.

    Examples
    --------
    >>> vkgroup.kernels.partition_by(np.array([0, 1, 1], bool), np.array([4, 5, 6], np.uint32))
    (array([5, 6, 4], dtype=uint32), 2)
    """
    arguments = _masked(device, x, mask)
    array = arguments["x"]
    if math.prod(array.shape) == 0:
        return np.empty(0, array.dtype), 0
    plan = plan_compact(
        arguments.device, array.dtype, array.shape, output="partition", implementation=implementation
    )
    parted, total = arguments.run(plan, "kept", "total")
    return parted, _number(total)


def _masked(device: Device | None, x: Given, mask: Given) -> Arguments:
    """Return elements and their mask as arguments; the mask has four bytes in each word."""
    arguments = Arguments(device, x=x, mask=mask)
    count = math.prod(arguments["x"].shape)
    arguments.given["mask"] = words_of_bytes(arguments["mask"], count, "mask")
    return arguments


def _number(total: Result) -> int:
    """Return a count, and close its buffer."""
    if not isinstance(total, Buffer):
        return int(total)
    with total:
        return int(total.read())


def _selected(
    arguments: Arguments,
    array: Result,
    implementation: str,
    where: str = "mask",
    limit: Any = None,
    output: str = "values",
) -> Result:
    """Return the part of a compaction's result that holds the selected elements, or their indices."""
    if math.prod(array.shape) == 0:
        return np.empty(0, np.int64 if output == "indices" else array.dtype)
    plan = plan_compact(
        arguments.device,
        array.dtype,
        array.shape,
        where,
        limit,
        output=output,
        implementation=implementation,
    )
    elements, total = arguments.run(plan, "kept", "total")
    count = _number(total)
    if not isinstance(elements, Buffer):
        return elements[:count].copy()
    if count == 0:
        elements.close()
        return np.empty(0, elements.dtype)
    return elements.view(shape=count)

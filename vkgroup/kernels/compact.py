"""Stable compaction: compress, nonzero and flatnonzero as in NumPy, partition_by, and by comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result, as_array
from vkgroup.kernels.compact_plan import plan_compact, where_of
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.scan import words_of_bytes


def compress(mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the elements where a mask is set, in their order; as `numpy.compress` without an axis.

    Parameters
    ----------
    mask : bools, or bytes of which those that are not 0 keep their element, one for each element of `x`. A
        buffer of them must have a multiple of four.
    x : array or buffer of elements of 2, 4 or 8 bytes, in C order.
    device : where to run; None takes the buffers', or the best device.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array of one dimension. For buffers a buffer: a view of one with room for all elements. Where nothing
    is kept it is an empty array in any case, since Vulkan has no empty buffers.

    Raises
    ------
    InvalidDispatch
        The mask does not fit, or there is no compaction of that dtype.
    Unsupported
        The device lacks what the implementation needs.

    Examples
    --------
    >>> vkgroup.kernels.compress(np.array([1, 0, 1], bool), np.array([4, 5, 6], np.uint32))
    array([4, 6], dtype=uint32)
    """
    arguments = Arguments(device, x=x, mask=mask)
    array = arguments["x"]
    arguments.given["mask"] = words_of_bytes(arguments["mask"], math.prod(array.shape), "mask")
    if math.prod(array.shape) == 0:
        return np.empty(0, array.dtype)
    plan = plan_compact(
        arguments.device, array.dtype, array.shape, output="values", implementation=implementation
    )
    return _kept(arguments, plan)


def compact(
    x: Given, relation: str, limit: Any, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Return the elements in a relation to a number, in their order: ``x[x < 0.5]`` in one pass.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    relation : ``"<"``, ``"<="``, ``">"``, ``">="``, ``"=="`` or ``"!="``.
    limit : a number of the dtype of `x`. A comparison of floats is the device's, which may take denormal
        numbers for zeros.
    device, implementation : as for `compress`.

    Returns
    -------
    As `compress`.

    Raises
    ------
    InvalidDispatch
        There is no such relation, or none for that dtype; the limit is no number of that dtype.
    Unsupported
        The device lacks the type, or what the implementation needs.

    Examples
    --------
    >>> vkgroup.kernels.compact(np.array([3, 1, 2], np.uint32), "<", 3)
    array([1, 2], dtype=uint32)
    """
    arguments = Arguments(device, x=x)
    array = arguments["x"]
    where_of(relation, limit, array.dtype)
    if relation in ("mask", "nonzero"):
        raise InvalidDispatch(f"A relation is one like '<'; {relation!r} was given.")
    if math.prod(array.shape) == 0:
        return np.empty(0, array.dtype)
    plan = plan_compact(
        arguments.device, array.dtype, array.shape, relation, limit, implementation=implementation
    )
    return _kept(arguments, plan)


def flatnonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Return the indices, in C order, of the elements that are not zero; as `numpy.flatnonzero`.

    Parameters
    ----------
    x : array or buffer of bools, integers or floats, of 1, 2, 4 or 8 bytes; a buffer of bytes must have a
        multiple of four.
    device, implementation : as for `compress`.

    Returns
    -------
    int64 in an array, as NumPy's; uint32 in a buffer where one was given (see `compress` for when there is
    none).

    Raises
    ------
    InvalidDispatch
        There are no zeros of that dtype.
    Unsupported
        The device lacks what the implementation needs.
    """
    arguments = Arguments(device, x=x)
    array = arguments["x"]
    count = math.prod(array.shape)
    small = array.dtype.itemsize == 1
    if not small:
        where_of("nonzero", None, array.dtype)
    if count == 0:
        return np.empty(0, np.int64)
    if small:
        arguments.given = {"mask": words_of_bytes(array, count, "x")}
    plan = plan_compact(
        arguments.device,
        array.dtype,
        array.shape,
        "mask" if small else "nonzero",
        output="indices",
        implementation=implementation,
    )
    found = _kept(arguments, plan)
    return found if isinstance(found, Buffer) else found.astype(np.int64)


def nonzero(x: Given, *, device: Device | None = None, implementation: str = "auto") -> tuple[Result, ...]:
    """Return the indices of the elements that are not zero, an array for each axis; as `numpy.nonzero`.

    Parameters, results and errors are those of `flatnonzero`; buffers of one dimension only.

    Raises
    ------
    InvalidDispatch
        Also for an array without axes, and a buffer of several.
    """
    shape = x.shape if isinstance(x, Buffer) else as_array(x, "x").shape
    if shape == () or (isinstance(x, Buffer) and len(shape) != 1):
        raise InvalidDispatch(
            f"nonzero takes arrays of at least one axis and buffers of one, not of shape {shape};"
            " flatnonzero gives indices in C order of anything."
        )
    found = flatnonzero(x, device=device, implementation=implementation)
    if isinstance(found, Buffer):
        return (found,)
    return tuple(np.unravel_index(found, shape))


def partition_by(
    mask: Given, x: Given, *, device: Device | None = None, implementation: str = "auto"
) -> tuple[Result, int]:
    """Put the elements where a mask is set first and the others behind them, both in their order.

    Parameters and errors are those of `compress`. Where the others begin is known only when all of the mask
    has been read: the mask is read twice, the elements once.

    Returns
    -------
    All elements in one dimension, as an array or a buffer, and how many of them the mask kept.

    Examples
    --------
    >>> vkgroup.kernels.partition_by(np.array([0, 1, 1], bool), np.array([4, 5, 6], np.uint32))
    (array([5, 6, 4], dtype=uint32), 2)
    """
    arguments = Arguments(device, x=x, mask=mask)
    array = arguments["x"]
    arguments.given["mask"] = words_of_bytes(arguments["mask"], math.prod(array.shape), "mask")
    if math.prod(array.shape) == 0:
        return np.empty(0, array.dtype), 0
    plan = plan_compact(
        arguments.device, array.dtype, array.shape, output="partition", implementation=implementation
    )
    parted, total = arguments.run(plan, "kept", "total")
    return parted, _number(total)


def _number(total: npt.NDArray[Any] | Buffer) -> int:
    """Return a count, and close its buffer."""
    if not isinstance(total, Buffer):
        return int(total)
    found = int(total.read())
    total.close()
    return found


def _kept(arguments: Arguments, plan: Plan) -> Result:
    """Run a plan, and return as much of its result as was kept."""
    kept, total = arguments.run(plan, "kept", "total")
    count = _number(total)
    if not isinstance(kept, Buffer):
        result: Result = kept[:count].copy()
        return result
    if count == 0:
        kept.close()
        return np.empty(0, kept.dtype)
    return kept.view(shape=count)

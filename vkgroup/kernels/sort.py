"""Sorting by radix: `sort`, `argsort` and `sort_by_key`, all stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result, as_array, check_device, default_device
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.radix_sort import KEY_DTYPES, plan_radix_sort

Array = npt.NDArray[Any]
Planning = Callable[[Device, int, np.dtype[Any]], Plan]


def sort(
    x: Given,
    axis: int | None = -1,
    *,
    descending: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> Result:
    """Return a sorted copy, as `numpy.sort` with ``kind="stable"``.

    Parameters
    ----------
    x : an array of numbers that are not complex, or a one-dimensional buffer of 32- or 64-bit numbers.
    axis : along which an array is sorted, one line after the other; None flattens it first. Buffers have one.
    descending : the greatest first. Equal elements (-0 and 0 are) keep their order in either direction, and
        NaN are last.
    device : where it runs; a buffer's is its own, an array's default is the best device.
    implementation, **tuning : as for `vkgroup.kernels.radix_sort.plan_radix_sort`.

    Returns
    -------
    An array, or for a buffer a new buffer, of the same dtype. Arrays of 8 and 16 bits are widened on the way.

    Raises
    ------
    InvalidDispatch
        There is no such axis, or no sort of that dtype.
    Unsupported
        There are 2^30 elements or more, or the device lacks what the version needs.
    """

    def planning(where: Device, size: int, dtype: np.dtype[Any]) -> Plan:
        return plan_radix_sort(
            where, size, dtype, descending=descending, implementation=implementation, **tuning
        )

    if isinstance(x, Buffer):
        return _of_buffer(x, axis, device, planning, "sorted_keys")
    array = as_array(x, "x")
    lines = _along(array, axis, device, planning, "sorted_keys")
    return lines.astype(array.dtype, copy=False)


def argsort(
    x: Given,
    axis: int | None = -1,
    *,
    descending: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> Result:
    """Return the indices that sort, as `numpy.argsort` with ``kind="stable"``.

    Parameters
    ----------
    x, axis, descending, device, implementation, **tuning : as for `sort`.

    Returns
    -------
    An array of NumPy's integers for indices (intp), or for a buffer a buffer of uint32.

    Raises
    ------
    InvalidDispatch, Unsupported
        As `sort`.
    """

    def planning(where: Device, size: int, dtype: np.dtype[Any]) -> Plan:
        return plan_radix_sort(
            where,
            size,
            dtype,
            indices=True,
            descending=descending,
            implementation=implementation,
            **tuning,
        )

    if isinstance(x, Buffer):
        return _of_buffer(x, axis, device, planning, "indices")
    return _along(as_array(x, "x"), axis, device, planning, "indices").astype(np.intp, copy=False)


def sort_by_key(
    keys: Given,
    values: Given,
    *,
    descending: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> tuple[Result, Result]:
    """Sort keys, and put values into the order of their keys.

    Parameters
    ----------
    keys : one-dimensional, as for `sort`.
    values : one for each key. An array may have any dtype and further dimensions; a buffer has one
        dimension, and elements of 4 or 8 bytes.
    descending, device, implementation, **tuning : as for `sort`.

    Returns
    -------
    The sorted keys, and the values; as buffers where buffers were given.

    Raises
    ------
    InvalidDispatch
        There are not as many values as keys, or there is no sort of these dtypes.
    Unsupported
        As `sort`.
    """
    options: dict[str, Any] = {"descending": descending, "implementation": implementation, **tuning}
    given = Arguments(device, keys=keys, values=values)
    lines, moved = given["keys"], given["values"]
    if len(lines.shape) != 1 or not moved.shape or lines.shape[0] != moved.shape[0]:
        raise InvalidDispatch(
            f"Keys have one dimension, and there is one value for each; the shapes are {lines.shape} and"
            f" {moved.shape}."
        )
    if isinstance(lines, Buffer) or isinstance(moved, Buffer):
        if len(moved.shape) != 1:
            raise InvalidDispatch(f"A buffer of values has one dimension; its shape is {moved.shape}.")
        plan = plan_radix_sort(given.device, lines.shape[0], lines.dtype, values=moved.dtype, **options)
        found = given.run(plan, "sorted_keys", "sorted_values")
        return found[0], found[1]
    return _arrays_by_key(lines, moved, device, options)


def _arrays_by_key(
    keys: Array, values: Array, device: Device | None, options: dict[str, Any]
) -> tuple[Array, Array]:
    """Sort arrays by key: on the device where values fit its words, else by way of the indices."""
    wide = _widened(keys)
    if not keys.size:
        return keys.copy(), values.copy()
    if values.ndim > 1 or values.dtype.kind not in "iuf" or values.dtype.itemsize not in (4, 8):
        order = np.asarray(argsort(keys, device=device, **options))
        return keys[order], values[order]
    given = Arguments(device, keys=wide, values=_native(values))
    plan = plan_radix_sort(given.device, keys.size, wide.dtype, values=_native(values).dtype, **options)
    found = given.run(plan, "sorted_keys", "sorted_values")
    return found[0].astype(keys.dtype, copy=False), found[1].astype(values.dtype, copy=False)


def _of_buffer(
    buffer: Buffer, axis: int | None, device: Device | None, planning: Planning, output: str
) -> Result:
    """Sort a buffer of one dimension."""
    if len(buffer.shape) != 1:
        raise InvalidDispatch(
            f"Buffers are sorted along their one dimension; this one has the shape {buffer.shape}."
            " View it as one line, or read it into an array."
        )
    if axis not in (None, 0, -1):
        raise InvalidDispatch(f"A buffer has the one axis 0; {axis!r} was given.")
    given = Arguments(device, keys=buffer)
    plan = planning(given.device, buffer.shape[0], buffer.dtype)
    found: Result = given.run(plan, output)[0]
    return found


def _along(array: Array, axis: int | None, device: Device | None, planning: Planning, output: str) -> Array:
    """Sort an array along an axis: one plan, run for each line."""
    if axis is None:
        array, axis = array.reshape(-1), -1
    if not isinstance(axis, int | np.integer) or not -array.ndim <= axis < array.ndim:
        raise InvalidDispatch(f"An array of {array.ndim} dimensions has no axis {axis!r}.")
    check_device(device)
    wide = _widened(np.moveaxis(array, axis, -1))
    dtype = np.dtype(np.uint32) if output == "indices" else wide.dtype
    # Planned first: too many keys are refused before there is memory for the result.
    plan = planning(device or default_device(), wide.shape[-1], wide.dtype) if array.size else None
    result = np.empty(wide.shape, dtype)
    if plan is not None:
        lines, results = wide.reshape(-1, wide.shape[-1]), result.reshape(-1, wide.shape[-1])
        with plan.record() as work:
            for line, found in zip(lines, results, strict=True):
                work.buffers["keys"].write(np.ascontiguousarray(line))
                work.run(timeout=None)
                found[...] = work.buffers[output].read()
    return np.moveaxis(result, -1, axis)


def _widened(array: Array) -> Array:
    """Return numbers of 8 and 16 bits as such of 32 bits, in this machine's byte order."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b" or (kind in "uif" and size < 4):
        return array.astype({"b": "u4", "u": "u4", "i": "i4", "f": "f4"}[kind])
    native = _native(array)
    if native.dtype not in KEY_DTYPES:
        raise InvalidDispatch(
            f"Numbers of at most 64 bits that are not complex are sorted; {array.dtype} was given."
        )
    return native


def _native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="), copy=False)

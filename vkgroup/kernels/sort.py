"""Stable radix sorts: `sort`, `argsort` and `sort_by_key`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result, as_array, check_device, default_device
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.radix_sort import KEY_DTYPES, plan_radix_sort
from vkgroup.kernels.rank_sort import plan_rank_sort, prefers_ranks
from vkgroup.kernels.sort_rows import longest_row, plan_sort_rows, prefers_rows
from vkgroup.kernels.types import check_axis

Array = npt.NDArray[Any]
Options = dict[str, Any]


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
    x : an array of real numbers, or a buffer of 32- or 64-bit numbers; fewer than 2**30 of them along the
        axis.
    axis : the axis to sort along; None flattens the array first. Rows of at most
        `vkgroup.kernels.sort_rows.longest_row` elements are sorted in one dispatch, longer rows of arrays one
        after the other. A buffer is sorted along its last axis; its rows must be short if it has several.
    descending : sort the greatest elements first. Equal elements (such as -0 and 0) keep their order in both
        directions, and NaNs are last.
    implementation, **tuning : as for `vkgroup.kernels.radix_sort.plan_radix_sort`; with tuning values, short
        rows use the radix sort too.

    Returns
    -------
    A new array, or a new buffer if `x` is one, of the same dtype. Arrays of 8 and 16 bits are temporarily
    widened.
    """
    key = ("sort", axis, type(axis), descending, implementation, *tuning.items())
    if (again := call_again(x, device, key)) is not None:
        return again
    options = {"descending": descending, "implementation": implementation, **tuning}
    result = _sorted(x, axis, device, "sorted_keys", options, key)
    return result if isinstance(result, Buffer) else result.astype(as_array(x, "x").dtype, copy=False)


def argsort(
    x: Given,
    axis: int | None = -1,
    *,
    descending: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> Result:
    """Return the indices that sort an array, as `numpy.argsort` with ``kind="stable"``.

    The arguments are those of `sort`. The result is an array of NumPy's index type (intp), or a buffer of
    uint32 if `x` is a buffer.
    """
    key = ("argsort", axis, type(axis), descending, implementation, *tuning.items())
    if (again := call_again(x, device, key)) is not None:
        return again
    options = {"descending": descending, "implementation": implementation, "indices": True, **tuning}
    result = _sorted(x, axis, device, "indices", options, key)
    return result if isinstance(result, Buffer) else result.astype(np.intp, copy=False)


def sort_by_key(
    keys: Given,
    values: Given,
    *,
    descending: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> tuple[Result, Result]:
    """Sort keys, and reorder values with their keys.

    Parameters
    ----------
    keys : one-dimensional, as for `sort`.
    values : one value per key. An array may have any dtype and additional dimensions; a buffer has one
        dimension and elements of 4 or 8 bytes.
    descending, device, implementation, **tuning : as for `sort`.

    Returns
    -------
    The sorted keys and the reordered values, as buffers if the arguments are buffers.
    """
    options: Options = {"descending": descending, "implementation": implementation, **tuning}
    arguments = KernelArguments(device, keys=keys, values=values)
    k, v = arguments["keys"], arguments["values"]
    if len(k.shape) != 1 or not v.shape or k.shape[0] != v.shape[0]:
        raise InvalidDispatch(
            "Keys must have one dimension, and there must be one value for each; the shapes are"
            f" {k.shape} and {v.shape}."
        )
    if isinstance(k, Buffer) or isinstance(v, Buffer):
        if len(v.shape) != 1:
            raise InvalidDispatch(f"A buffer of values must have one dimension; its shape is {v.shape}.")
        plan = plan_sort(arguments.device, k.shape, k.dtype, options | {"values": v.dtype})
        sorted_keys, sorted_values = arguments.run(plan, "sorted_keys", "sorted_values")
        return sorted_keys, sorted_values
    return _arrays_by_key(k, v, device, options)


def _arrays_by_key(
    keys: Array, values: Array, device: Device | None, options: Options
) -> tuple[Array, Array]:
    """Sort arrays by key: values of 4 or 8 bytes on the device, other values by sorted indices."""
    wide = widened(keys)
    if not keys.size:
        return keys.copy(), values.copy()
    if values.ndim > 1 or values.dtype.kind not in "iuf" or values.dtype.itemsize not in (4, 8):
        order = np.asarray(argsort(keys, device=device, **options))
        return keys[order], values[order]
    arguments = KernelArguments(device, keys=wide, values=_native(values))
    plan = plan_sort(arguments.device, keys.shape, wide.dtype, options | {"values": _native(values).dtype})
    sorted_keys, sorted_values = map(np.asarray, arguments.run(plan, "sorted_keys", "sorted_values"))
    return sorted_keys.astype(keys.dtype, copy=False), sorted_values.astype(values.dtype, copy=False)


def plan_sort(device: Device, shape: tuple[int, ...], dtype: np.dtype[Any], options: Options) -> Plan:
    """Return the plan of a sort along the last axis: of all rows if they are short, otherwise of one row."""
    tuned = options.keys() - {"descending", "implementation", "indices", "values"}
    if not tuned and dtype in KEY_DTYPES:
        if prefers_ranks(device, shape):
            return planned(plan_rank_sort, device, shape, dtype, **options)
        if prefers_rows(device, shape, dtype):
            return planned(plan_sort_rows, device, shape, dtype, **options)
    return planned(plan_radix_sort, device, shape[-1], dtype, **options)


def _sorted(
    x: Given, axis: int | None, device: Device | None, output: str, options: Options, key: tuple[Any, ...]
) -> Result:
    """Return an output of sorts along an axis of a buffer or an array; `key` for `keep_call`."""
    if not isinstance(x, Buffer) or not x.nbytes:
        return _along(as_array(x, "x"), axis, device, output, options)
    if axis is None and len(x.shape) != 1:
        x = x.view(shape=math.prod(x.shape))
    if axis is not None:
        check_axis(axis, len(x.shape))
    if axis not in (None, -1, len(x.shape) - 1):
        raise InvalidDispatch(
            f"A buffer is sorted along its last axis, -1; {axis!r} was given. Transpose it, or sort an array."
        )
    given = KernelArguments(device, keys=x)
    plan = plan_sort(given.device, x.shape, x.dtype, options)
    if len(x.shape) != 1 and plan.inputs["keys"].shape != x.shape:
        raise InvalidDispatch(
            f"A buffer of several rows is sorted if they have at most {longest_row(given.device, x.dtype)}"
            f" elements, without tuning values; its shape is {x.shape}. Sort views of single rows."
        )
    result = given.run(plan, output)[0]
    keep_call(x, device, key, plan, "keys", output)
    return result


def _along(array: Array, axis: int | None, device: Device | None, output: str, options: Options) -> Array:
    """Sort an array along an axis: all lines in one dispatch if they are short, otherwise one by one."""
    if axis is None:
        array, axis = array.reshape(-1), -1
    if not isinstance(axis, int | np.integer) or not -array.ndim <= axis < array.ndim:
        raise InvalidDispatch(f"An array of {array.ndim} dimensions has no axis {axis!r}.")
    check_device(device)
    wide = widened(np.moveaxis(array, axis, -1))
    dtype = np.dtype(np.uint32) if output == "indices" else wide.dtype
    if not array.size:
        return np.moveaxis(np.empty(wide.shape, dtype), -1, axis)
    # The plan comes first: it rejects too many keys before memory for the result is allocated.
    plan = plan_sort(device or default_device(), wide.shape, wide.dtype, options)
    if plan.inputs["keys"].shape == wide.shape:
        result = np.asarray(KernelArguments(plan.device, keys=wide).run(plan, output)[0])
    else:
        result = _line_by_line(plan, wide, np.empty(wide.shape, dtype), output)
    return np.moveaxis(result, -1, axis)


def _line_by_line(plan: Plan, array: Array, result: Array, output: str) -> Array:
    """Sort the lines of an array with a plan of one line."""
    size = array.shape[-1]
    with plan.record() as work:
        for source, target in zip(array.reshape(-1, size), result.reshape(-1, size), strict=True):
            work.buffers["keys"].write(np.ascontiguousarray(source))
            work.run(timeout=None)
            target[...] = work.buffers[output].read()
    return result


def widened(array: Array) -> Array:
    """Return an array in native byte order, with numbers of 8 and 16 bits widened to 32 bits."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b" or (kind in "uif" and size < 4):
        return array.astype({"b": "u4", "u": "u4", "i": "i4", "f": "f4"}[kind])
    native = _native(array)
    if native.dtype not in KEY_DTYPES:
        raise InvalidDispatch(f"Only real numbers of at most 64 bits can be sorted; {array.dtype} was given.")
    return native


def _native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="), copy=False)

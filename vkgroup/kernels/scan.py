"""Scans as in NumPy (cumsum, cumprod, maximum.accumulate, minimum.accumulate), and their plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.pipelines import choose_full, line, parts
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.scan_columns import ALLOWED as COLUMNS_ALLOWED
from vkgroup.kernels.scan_columns import add_columns, chosen_version
from vkgroup.kernels.scan_look_back import OPERATIONS, look_back_defaults, look_back_values, tile
from vkgroup.kernels.tuning import TABLES, checked_values
from vkgroup.kernels.types import (
    GLSL,
    check_axis,
    check_operation,
    dtype_of,
    element_count,
    sizes_of,
    vector_type,
)

TABLES["scan"] = {
    "any": {"workgroup": 256, "items": 16, **look_back_defaults()},
    # CPU drivers run workgroups almost in sequence, so waiting for a later workgroup does not help. Barriers
    # among several subgroups take long.
    "cpu": {"workgroup": 128, "items": 8, "depth": 1, "group": 1, "spins": 4, "in_turn": 32},
}
TABLES["scan.subgroup"] = {"nvidia": {"workgroup": 384, "items": 32, "depth": 1, "order": 0}}
TABLES["scan.shared"] = {"nvidia": {"workgroup": 256, "items": 20, "group": 64, "order": 0}}


def plan_scan(
    device: Device,
    operation: str,
    dtype: npt.DTypeLike,
    shape: int | tuple[int, ...],
    axis: int | None = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    segments: bool = False,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a scan with the input ``x``, with `segments` also ``heads``, and the output ``scanned``.

    Parameters
    ----------
    operation : ``"add"``, ``"mul"``, ``"min"``, ``"max"``, ``"and"``, ``"or"`` or ``"xor"``.
    dtype, shape : of `x`, in C order, at least one element.
    axis : the axis to scan along; None scans all elements in C order, and ``scanned`` has one dimension.
    exclusive : whether each result excludes its own element.
    reverse : whether the scan runs from the last element to the first.
    segments : whether the scan restarts at segments. The input ``heads`` has one byte per element, padded to
        whole words; a nonzero byte begins a segment. With `reverse` the segments are the same, and the scan
        restarts at their ends.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.
    **tuning : for all elements, or the last axis: ``workgroup`` (a multiple of the subgroup size in the
        subgroup version), ``items`` per invocation (a multiple of 4, at most 32), and those of
        `look_back_defaults`. For another axis: those of `vkgroup.kernels.scan_columns`.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    check_operation("scan", operation, kind)
    count = element_count(sizes)
    if segments and axis is not None:
        raise InvalidDispatch("Pass either segments or an axis: with an axis, the segments are its rows.")
    n, inner = count, 1
    if axis is not None:
        check_axis(axis, len(sizes))
        n, inner = sizes[axis], math.prod(sizes[axis % len(sizes) + 1 :])
    macros = _macros_of(operation, kind, exclusive, reverse)
    if inner > 1:
        version = chosen_version(device, implementation, macros)
        values = checked_values(device, "scan_columns", version, tuning, COLUMNS_ALLOWED)
    else:
        version = choose_full(device, implementation, *OPERATIONS)
        values = look_back_values(device, "scan", version, tuning)
    planner = Planner(device, "scan", version)
    planner.input("x", kind, sizes)
    if segments:
        planner.input("heads", np.uint32, parts(count, 4))
    planner.output("scanned", kind, count if axis is None else sizes)
    if inner > 1:
        add_columns(planner, macros, values, (count // (n * inner), n, inner), kind.itemsize)
    else:
        _tiles(planner, macros, values, (count, n, _width(kind)), segments)
    return planner.plan()


def _tiles(
    planner: Planner,
    macros: dict[str, Any],
    values: dict[str, Any],
    sizes: tuple[int, int, int],
    segments: bool,
) -> None:
    """Scan all elements, or rows that are contiguous in memory."""
    count, row, width = sizes
    tiling = tile(planner.device, planner.implementation, count, values, bits=macros["T_BITS"], width=width)
    # Bindings have numbers, since two blocks of the kernel, of vectors and of elements, share 0, and two
    # share 1.
    bindings = {0: "x", 1: "scanned"} | tiling.clear(planner) | ({3: "heads"} if segments else {})
    macros["SEGMENTS"] = "FLAGS" if segments else "NONE" if row == count else "ROWS"
    kernel = planner.kernel(
        f"scan/{planner.implementation}.comp",
        macros=macros | tiling.macros(),
        workgroup=tiling.workgroup,
        specialization=tiling.constants(planner.implementation),
    )
    planner.dispatch(kernel, line(planner.device, tiling.groups), bindings, {"count": count, "row": row})


def _macros_of(operation: str, dtype: np.dtype[Any], exclusive: bool, reverse: bool) -> dict[str, Any]:
    """Return the macros of ``kernels/scan/operation.glsl``.

    Floats are compared by integer keys made of their bits. NaNs, denormal numbers and zeros are then handled
    as in NumPy, independently of the device's float instructions. float16 is added and multiplied in float32,
    and every result is rounded once.
    """
    computed, by_keys = dtype, dtype.kind == "f" and operation in ("min", "max")
    if by_keys:
        computed = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)
    elif dtype == np.float16:
        computed = np.dtype(np.float32)
    return {
        "T": GLSL[computed],
        "V": vector_type(GLSL[computed], _width(dtype)),
        "T_BITS": computed.itemsize * 8,
        "T_FLOAT": int(computed.kind == "f"),
        "OPERATION": operation.upper(),
        "HALF": int(dtype == np.float16),
        "KEYS": int(by_keys),
        "EXCLUSIVE": int(exclusive),
        "REVERSE": int(reverse),
    }


def _width(dtype: np.dtype[Any]) -> int:
    """Return the number of elements of a vector."""
    return 2 if dtype.itemsize == 8 else 4


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
    key = ("scan", operation, exclusive, reverse, axis, type(axis), implementation)
    if segments is None and (result := call_again(x, device, key)) is not None:
        return result
    given = {"x": x} if segments is None else {"x": x, "heads": segments}
    arguments = KernelArguments(device, **given)
    array = arguments["x"]
    check_operation("scan", operation, array.dtype)
    count = math.prod(array.shape)
    if segments is not None:
        arguments.given["heads"] = words_of_bytes(arguments["heads"], count, "segments")
    if axis is not None:
        check_axis(axis, len(array.shape))
    if count == 0:
        return np.empty(0 if axis is None else array.shape, array.dtype)
    plan = planned(
        plan_scan,
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
    keep_call(x, device, key, plan, "x", "scanned")
    return scanned


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

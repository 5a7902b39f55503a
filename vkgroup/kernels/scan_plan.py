"""Plans of scans: choice of the kernels in ``kernels/scan``, and of the number of tiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.grid import choose_full, line, parts
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.scan_elements import macros_of, width_of
from vkgroup.kernels.scan_look_back import OPERATIONS, checked, look_back_defaults, tile
from vkgroup.kernels.tuning import TABLES, tuned
from vkgroup.kernels.types import check_operation, dtype_of, sizes_of

TABLES["scan"] = {
    "any": {"workgroup": 256, "items": 16, **look_back_defaults()},
    # CPU drivers run workgroups almost in sequence, so waiting for a later workgroup does not help.
    "cpu": {"workgroup": 128, "items": 8, "depth": 1, "group": 1, "spins": 4},
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
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``. For an axis other than the last, both
        versions are the same kernel, which uses neither subgroup operations nor shared memory.
    **tuning : ``workgroup`` (a multiple of the subgroup size in the subgroup version), ``items`` per
        invocation (a multiple of 4, at most 32), and those of `look_back_defaults`.

    Raises
    ------
    InvalidDispatch
        There are no elements, or the operation, the dtype, the axis or a tuning value is invalid.
    Unsupported
        The device lacks the subgroup operations, the type, or grids of that size.
    """
    kind, sizes = dtype_of(dtype), sizes_of(shape)
    check_operation("scan", operation, kind)
    count = math.prod(sizes)
    if not 0 < count < 2**32:
        raise InvalidDispatch(f"A plan takes 1 to 2**32 - 1 elements; {count} were given.")
    if segments and axis is not None:
        raise InvalidDispatch("Pass either segments or an axis: with an axis, the segments are its rows.")
    n, inner = _along(sizes, axis)
    version = choose_full(device, implementation, *OPERATIONS)
    checked(TABLES["scan"]["any"], tuning)
    values = tuned(device, "scan", version, **tuning)
    planner = Planner(device, "scan", version)
    planner.input("x", kind, sizes)
    if segments:
        planner.input("heads", np.uint32, parts(count, 4))
    planner.output("scanned", kind, count if axis is None else sizes)
    macros = macros_of(operation, kind) | {"EXCLUSIVE": int(exclusive), "REVERSE": int(reverse)}
    if inner > 1:
        _columns(planner, macros, values, (count // (n * inner), n, inner))
    else:
        _tiles(planner, macros, values, (count, n, width_of(kind)), segments)
    return planner.plan()


def _along(sizes: tuple[int, ...], axis: int | None) -> tuple[int, int]:
    """Return the length of the axis, and the product of the lengths of the axes after it."""
    if axis is None:
        return math.prod(sizes), 1
    check_axis(axis, len(sizes))
    return sizes[axis], math.prod(sizes[axis % len(sizes) + 1 :])


def check_axis(axis: int | None, rank: int) -> None:
    """Raise `InvalidDispatch` if an array of `rank` axes does not have the axis."""
    if axis is not None and not (isinstance(axis, int | np.integer) and -rank <= axis < rank):
        raise InvalidDispatch(f"axis {axis!r} does not exist in an array of {rank} axes.")


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
    bindings = {0: "x", 1: "scanned", 2: tiling.clear(planner)} | ({3: "heads"} if segments else {})
    macros["SEGMENTS"] = "FLAGS" if segments else "NONE" if row == count else "ROWS"
    kernel = planner.kernel(
        f"scan/{planner.implementation}.comp",
        macros=macros | tiling.macros(),
        workgroup=tiling.workgroup,
        specialization=tiling.constants(planner.implementation),
    )
    planner.dispatch(kernel, tiling.grid(planner.device), bindings, {"count": count, "row": row})


def _columns(
    planner: Planner, macros: dict[str, Any], values: dict[str, Any], sizes: tuple[int, int, int]
) -> None:
    """Scan along an axis that is not the last: each invocation scans a column."""
    slices, n, inner = sizes
    workgroup = min(values["workgroup"], planner.device.capabilities.limits["maxComputeWorkGroupInvocations"])
    kernel = planner.kernel(
        "scan/columns.comp",
        macros=macros,
        workgroup=workgroup,
        specialization={"ITEMS": values["items"]},
    )
    groups = line(planner.device, parts(slices * inner, workgroup))
    planner.dispatch(
        kernel,
        groups,
        {0: "x", 1: "scanned"},
        {"count": slices * n * inner, "length": n, "inner": inner},
    )

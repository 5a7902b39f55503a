"""Max pooling: the greatest element of each 4 × 4 window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.histogram_keys import macros
from vkgroup.kernels.pipelines import choose, parts, possible_groups, possible_workgroup, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.tuning import TABLES, Allowed, checked_values, require_multiple, whole
from vkgroup.kernels.types import dtype_of, sizes_of

METHODS = ("shuffle", "quad", "clustered")
"""Methods to combine the lanes of a window; see ``kernels/max_pool/subgroup.comp``."""

DIRECT = "direct"
"""The version in which each invocation loads whole windows, without communication."""

WINDOW = 4
"""Width and height of a window, in elements."""

TABLES["max_pool"] = {
    "any": {
        "version": DIRECT,
        "method": "shuffle",
        "cluster": WINDOW,
        "workgroup": 256,
        "items": 4,
        "groups": 65535,
    },
    "cpu": {"workgroup": 128, "groups": 16},
}

_LARGE_CLUSTER = WINDOW * WINDOW
_ALLOWED: dict[str, Allowed] = {
    "version": ("subgroup", "shared", DIRECT),
    "method": METHODS,
    "cluster": (WINDOW, _LARGE_CLUSTER),
    "workgroup": whole("workgroup", _LARGE_CLUSTER),
}


def plan_max_pool(
    device: Device,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    implementation: str = "auto",
    *,
    ceil_mode: bool = False,
    **tuning: Any,
) -> Plan:
    """Plan the output `maxima`: those of adjacent windows of 4 × 4 elements in the last two dimensions.

    Parameters
    ----------
    shape, dtype : of the array `x`: at least two dimensions and one window; any dtype that the kernels
        support.
    implementation : ``"subgroup"``: 4 or 16 lanes share a window. ``"shared"``: the rows of a window are
        combined in shared memory. ``"direct"``: each invocation loads whole windows. ``"auto"``: the fastest
        version according to the tuning table.
    ceil_mode : whether to include windows that are only partly inside the array.
    **tuning : `workgroup`, `items` (windows of a cluster, or rows of an invocation, that are loaded at once),
        `groups` (the maximum number of workgroups), `version` (the implementation that ``"auto"`` selects).
        The subgroup version also has `method` (one of `METHODS`) and `cluster` (4 lanes with one row each, or
        16 lanes with one element each).
    """
    dtype, shape = dtype_of(dtype), sizes_of(shape)
    values = checked_values(device, "max_pool", "", tuning, _ALLOWED)
    if values["method"] == "quad" and values["cluster"] != WINDOW:
        raise InvalidDispatch("A quad has 4 lanes; use cluster=4, or another method.")
    if values["method"] == "clustered" and dtype.itemsize == 8:
        raise InvalidDispatch(
            f"The method 'clustered' does not support {dtype}; use method='shuffle' or 'quad'."
        )
    require_multiple("workgroup", values["workgroup"], WINDOW)
    if implementation == "auto":
        implementation = values["version"]
    method = values["method"]
    implementation = choose(device, implementation, "basic", method, kinds=(DIRECT,))
    result = pooled_shape(shape, ceil_mode)
    count, elements = math.prod(result), math.prod(shape)
    if count == 0 or elements >= 2**32:
        raise InvalidDispatch(
            f"A plan needs at least one window, and at most 2**32 - 1 elements; the shape {shape} was given."
        )
    planner = Planner(device, "max_pool", implementation)
    planner.input("x", dtype, shape)
    planner.output("maxima", dtype, result)
    defined = macros(dtype)
    lanes = 1
    if implementation == "subgroup":
        defined |= {"METHOD": method.upper(), "CLUSTER": values["cluster"]}
        lanes = values["cluster"] if subgroup_size(device) >= values["cluster"] else 1
    elif implementation == "shared":
        lanes = WINDOW
    workgroup = possible_workgroup(device, values["workgroup"])
    items = 1 if implementation == DIRECT else values["items"]
    if implementation == "shared":
        room = int(device.capabilities.limits["maxComputeSharedMemorySize"])
        items = max(1, min(items, room // (max(4, dtype.itemsize) * workgroup)))
    kernel = planner.kernel(
        f"max_pool/{implementation}.comp",
        macros=defined,
        workgroup=workgroup,
        specialization={} if implementation == DIRECT else {"ITEMS": items},
    )
    groups = possible_groups(device, parts(count * lanes, workgroup * items), values["groups"])
    push = {
        "count": count,
        "window_columns": result[-1],
        "window_rows": result[-2],
        "columns": shape[-1],
        "lines": shape[-2],
    }
    planner.dispatch(kernel, groups, {"Rows": "x", "Scalars": "x", "Maxima": "maxima"}, push=push)
    return planner.plan()


def pooled_shape(shape: tuple[int, ...], ceil_mode: bool = False) -> tuple[int, ...]:
    """Return the shape of the maxima of an array."""
    if len(shape) < 2:
        raise InvalidDispatch(f"Windows need at least two dimensions; the array's shape is {shape}.")
    more = WINDOW - 1 if ceil_mode else 0
    return (*shape[:-2], *((size + more) // WINDOW for size in shape[-2:]))


def max_pool(
    x: Given,
    window: int = WINDOW,
    *,
    ceil_mode: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Return the greatest element of each 4 × 4 window, for adjacent windows.

    Parameters
    ----------
    x : array or `Buffer` of two dimensions or more, of any dtype that the kernels support. The windows lie in
        the last two dimensions.
    window : must be 4.
    ceil_mode : whether to include windows that are only partly inside `x`, as in PyTorch; otherwise the
        elements of incomplete windows at the right and at the bottom are ignored.
    implementation : ``"subgroup"``, ``"shared"``, ``"direct"`` or ``"auto"``; see `plan_max_pool`.

    Returns
    -------
    The maxima, of the same dtype. The maximum of a window with a NaN is NaN, as in `numpy.max`.
    """
    if not isinstance(window, int | np.integer) or window != WINDOW:
        raise InvalidDispatch(f"window must be 4 (windows have 4 x 4 elements); {window!r} was given.")
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    macros(given.dtype)
    result = pooled_shape(given.shape, ceil_mode)
    if not math.prod(result):
        return np.empty(result, given.dtype)
    plan = planned(
        plan_max_pool, arguments.device, given.shape, given.dtype, implementation, ceil_mode=ceil_mode
    )
    return arguments.run(plan, "maxima")[0]

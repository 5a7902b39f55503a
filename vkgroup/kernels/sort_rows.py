"""Plan of a sort of short rows: all rows in one dispatch, each by one team of invocations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import choose, largest_workgroup, line, parts, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.radix_sort import full_version, key_dtype, key_macros, value_dtype
from vkgroup.kernels.reduce_tuning import power_of_two
from vkgroup.kernels.tuning import TABLES, checked_values, kinds, require_power, tuned
from vkgroup.kernels.types import sizes_of

LONGEST_ROW = 4096
"""Maximum number of elements of a row; fewer on devices whose workgroups or shared memory are too small."""

TABLES["bitonic_sort"] = {
    "any": {"workgroup": 256, "items": 4, "one_row": LONGEST_ROW},
    "nvidia": {"items": 2},
    # One workgroup uses one thread of a CPU driver.
    "cpu": {"workgroup": 128, "items": 16, "one_row": 256},
}

_MOST_ITEMS = 16
_WORD = 4


def longest_row(device: Device, dtype: np.dtype[Any]) -> int:
    """Return the maximum number of keys of a row on a device."""
    each = dtype.itemsize + _WORD
    room = int(device.capabilities.limits["maxComputeSharedMemorySize"]) // each
    fits = min(room, _MOST_ITEMS * largest_workgroup(device), LONGEST_ROW)
    return 1 << fits.bit_length() - 1


def prefers_rows(device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Return whether a sort of rows is possible, and faster than a radix sort of each row."""
    most = longest_row(device, dtype)
    if math.prod(shape[:-1]) == 1:
        most = min(most, tuned(device, "bitonic_sort")["one_row"])
    return 0 < shape[-1] <= most


def plan_sort_rows(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    values: npt.DTypeLike | None = None,
    indices: bool = False,
    descending: bool = False,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a stable sort of rows with a bitonic network.

    Parameters
    ----------
    shape, dtype : of the array `keys`, in C order; its last axis is sorted. At least one key, and at most
        `longest_row` in a row. The dtype is one of `vkgroup.kernels.radix_sort.KEY_DTYPES`.
    values, indices, descending : as for `vkgroup.kernels.radix_sort.plan_radix_sort`; values and indices have
        the shape of the keys, and indices count from the beginning of their row.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.
    **tuning : ``items``, elements of an invocation (a power of two, at most 16; more if the workgroup would
        be too large); ``workgroup``, invocations of a workgroup that sorts several rows (a power of two);
        ``one_row``, for `prefers_rows`: the maximum length of a single row.

    Returns
    -------
    A plan with the input `keys` and optionally `values`, and the outputs `sorted_keys` and `sorted_values`,
    or `indices`. The inputs are not modified.
    """
    key, value = key_dtype(dtype), value_dtype(values, indices)
    sizes = sizes_of_rows(shape)
    length = sizes[-1]
    if length > longest_row(device, key):
        raise Unsupported(
            f"{device.name} sorts rows of at most {longest_row(device, key)} keys in one workgroup; {length}"
            " were given. Use plan_radix_sort.",
            [f"shared memory for {length} keys of {key}"],
        )
    version = choose(device, full_version(device, implementation), "basic", "shuffle")
    chosen = checked_values(device, "bitonic_sort", version, tuning, {"items": range(1, _MOST_ITEMS + 1)})
    require_power(**chosen)
    items, team, workgroup = _divided(device, version, length, chosen)
    planner = Planner(device, "bitonic sort", version)
    bindings = row_buffers(planner, sizes, key, value, indices)
    rows = math.prod(sizes[:-1])
    macros = row_macros(device, key, value, indices, descending)
    if version == "subgroup":
        macros["WIDE"] = int(team > subgroup_size(device))
    kernel = planner.kernel(
        f"bitonic_sort/{version}.comp",
        macros=macros,
        workgroup=workgroup,
        specialization={"ITEMS": items, "TEAM": team},
    )
    groups = line(device, parts(rows, workgroup // team))
    planner.dispatch(kernel, groups, bindings, {"rows": rows, "row_length": length})
    return planner.plan()


def _divided(device: Device, version: str, length: int, chosen: dict[str, Any]) -> tuple[int, int, int]:
    """Return the items of an invocation, the invocations of a row, and those of a workgroup."""
    most = largest_workgroup(device)
    items = max(chosen["items"], power_of_two(parts(length, most)))
    team = power_of_two(parts(length, items))
    lanes = subgroup_size(device) if version == "subgroup" else 1
    workgroup = max(team, lanes, min(chosen["workgroup"], most))
    return items, team, workgroup


def sizes_of_rows(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of an array to sort along its last axis, which must have elements."""
    sizes = sizes_of(shape)
    if not sizes or not 0 < math.prod(sizes) < 2**32:
        raise InvalidDispatch(f"A sort of rows takes 1 to 2**32 - 1 keys; the shape is {sizes}.")
    return sizes


def row_macros(
    device: Device, key: np.dtype[Any], value: np.dtype[Any] | None, indices: bool, descending: bool
) -> dict[str, Any]:
    """Return the macros of ``kernels/bitonic_sort/rows.glsl``."""
    return key_macros(key, descending) | {
        "UNROLL": int("cpu" not in kinds(device)),
        "VALUE_WORDS": 0 if value is None or indices else value.itemsize // _WORD,
        "INDICES": int(indices),
    }


def row_buffers(
    planner: Planner,
    shape: tuple[int, ...],
    key: np.dtype[Any],
    value: np.dtype[Any] | None,
    indices: bool,
) -> dict[str, str]:
    """Declare keys and values, and return their names by binding."""
    names = {"Keys": planner.input("keys", key, shape)}
    if indices:
        return names | {"Result": planner.output("indices", np.uint32, shape)}
    names["Result"] = planner.output("sorted_keys", key, shape)
    if value is not None:
        names["Values"] = planner.input("values", value, shape)
        names["ResultValues"] = planner.output("sorted_values", value, shape)
    return names

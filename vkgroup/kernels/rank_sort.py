"""Plan of a sort by ranks: short rows by many workgroups at once, without waiting for each other."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import choose, largest_workgroup, line, parts, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.radix_sort import full_version, key_dtype, value_dtype
from vkgroup.kernels.reduce_tuning import power_of_two
from vkgroup.kernels.sort_rows import row_buffers, row_macros, sizes_of_rows
from vkgroup.kernels.tuning import TABLES, checked_values, require_power, tuned

TABLES["rank_sort"] = {
    "any": {
        "workgroup": 128,
        "items": 4,
        "team": 128,
        "batch": 4,
        "one_row": 16384,
        "comparisons": 2**23,
    },
    # Many invocations take long there, compared with the steps of other sorts.
    "cpu": {"items": 16, "team": 1, "batch": 1, "one_row": 64, "comparisons": 2**12},
}
TABLES["rank_sort.subgroup"] = {"any": {"team": 4}, "cpu": {"team": 1}}

_MOST_ITEMS, _ROW_OF_ITEM = 16, 512
"""Long rows have one item for each 512 elements, at most 16, unless the caller gives `items`."""

_MOST = {"items": range(1, 33), "batch": range(1, 33)}


def prefers_ranks(device: Device, shape: tuple[int, ...]) -> bool:
    """Return whether the rows are so few and short that a sort by ranks is the fastest."""
    values, comparisons = tuned(device, "rank_sort"), math.prod(shape) * shape[-1]
    if comparisons == shape[-1] ** 2:
        return 0 < shape[-1] <= int(values["one_row"])
    return 0 < comparisons <= int(values["comparisons"])


def plan_rank_sort(
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
    """Plan a stable sort of rows that counts for each key how many keys come before it.

    A row of n keys takes n² comparisons, and one dispatch.

    Parameters
    ----------
    shape, dtype, values, indices, descending, implementation : as for
        `vkgroup.kernels.sort_rows.plan_sort_rows`, for rows of any length.
    **tuning : ``items``, keys whose ranks a team computes (at most 32; the default grows with the row);
        ``batch``, keys that an invocation reads at once (at most 32); ``workgroup``, invocations of a
        workgroup (a power of two); ``team``, subgroups of a team, or its invocations in the shared version
        (a power of two); ``one_row`` and ``comparisons``, for `prefers_ranks`: the maximum length of a
        single row, and the maximum number of comparisons of several rows.

    Returns
    -------
    A plan as `vkgroup.kernels.sort_rows.plan_sort_rows` returns.
    """
    key, value = key_dtype(dtype), value_dtype(values, indices)
    sizes = sizes_of_rows(shape)
    version = choose(device, full_version(device, implementation), "basic", "arithmetic")
    chosen = checked_values(device, "rank_sort", version, tuning, _MOST)
    require_power(workgroup=chosen["workgroup"], team=chosen["team"])
    items = chosen["items"]
    if tuning.get("items") is None:
        items = max(items, min(_MOST_ITEMS, power_of_two(parts(sizes[-1], _ROW_OF_ITEM))))
    lanes = subgroup_size(device) if version == "subgroup" else 1
    team = min(chosen["team"] * lanes, largest_workgroup(device))
    workgroup = max(team, min(chosen["workgroup"], largest_workgroup(device)))
    planner = Planner(device, "rank sort", version)
    bindings = row_buffers(planner, sizes, key, value, indices)
    kernel = planner.kernel(
        f"rank_sort/{version}.comp",
        macros=row_macros(device, key, value, indices, descending) | {"BATCH": chosen["batch"]},
        workgroup=workgroup,
        specialization={"ITEMS": items, "TEAM": team // lanes},
    )
    rows = math.prod(sizes[:-1])
    groups = line(device, parts(rows * parts(sizes[-1], items), workgroup // team))
    planner.dispatch(kernel, groups, bindings, {"rows": rows, "row_length": sizes[-1]})
    return planner.plan()

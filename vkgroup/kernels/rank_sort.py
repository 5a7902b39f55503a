"""Plan of a sort by ranks: short rows by many workgroups at once, without waiting for each other."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import choose, largest_workgroup, line, parts, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.radix_sort import full_version, key_dtype, value_dtype
from vkgroup.kernels.sort_rows import row_buffers, row_macros, sizes_of_rows
from vkgroup.kernels.tuning import TABLES, checked_values, require_power, tuned

TABLES["rank_sort"] = {
    "any": {
        "workgroup": 128,
        "items": 2,
        "team": 32,
        "batch": 8,
        "one_row": 16384,
        "comparisons": 2**23,
    },
    # Few comparisons at once, but steps that cost little.
    "cpu": {"items": 16, "team": 1, "batch": 1, "one_row": 64, "comparisons": 2**12},
}

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
    **tuning : ``items``, keys whose ranks a team computes (at most 32); ``batch``, keys that an invocation
        reads at once (at most 32); ``workgroup``, invocations of a workgroup (a power of two); ``team``,
        invocations of a team (a power of two; in the subgroup version a team is a subgroup);
        ``one_row`` and ``comparisons``, for `prefers_ranks`: the maximum length of a single row, and the
        maximum number of comparisons of several rows.

    Returns
    -------
    A plan as `vkgroup.kernels.sort_rows.plan_sort_rows` returns.
    """
    key, value = key_dtype(dtype), value_dtype(values, indices)
    sizes = sizes_of_rows(shape)
    version = choose(device, full_version(device, implementation), "basic", "arithmetic")
    chosen = checked_values(device, "rank_sort", version, tuning, _MOST)
    require_power(workgroup=chosen["workgroup"], team=chosen["team"])
    team = subgroup_size(device) if version == "subgroup" else chosen["team"]
    workgroup = max(team, min(chosen["workgroup"], largest_workgroup(device)))
    planner = Planner(device, "rank sort", version)
    bindings = row_buffers(planner, sizes, key, value, indices)
    kernel = planner.kernel(
        f"rank_sort/{version}.comp",
        macros=row_macros(device, key, value, indices, descending) | {"BATCH": chosen["batch"]},
        workgroup=workgroup,
        specialization={"ITEMS": chosen["items"]} | ({} if version == "subgroup" else {"TEAM": team}),
    )
    rows = math.prod(sizes[:-1])
    groups = line(device, parts(rows * parts(sizes[-1], chosen["items"]), workgroup // team))
    planner.dispatch(kernel, groups, bindings, {"rows": rows, "row_length": sizes[-1]})
    return planner.plan()

"""Tuning values of reductions, row normalization and matrix-vector products: defaults and valid values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.tuning import TABLES, check_whole, tuned

VECTOR = 4
"""Elements of a vector, which is loaded at once."""

_MOST_TEAM = 32
_PROCESSORS = 128
"""Assumed number of multiprocessors of a GPU that does not report it."""

FINISHES = ("second", "ticket")
"""Methods to combine parts: a second dispatch, or the last workgroup that finishes."""

TABLES["reduce"] = {
    "any": {
        "workgroup": 256,
        "items": 4,
        "groups": None,
        "groups_each": 8,
        "finish": "second",
        "finish_workgroup": 256,
        "contiguous": False,
        "team": None,
        "team_columns": 1024,
        "radix": 4,
    },
    "nvidia": {"workgroup": 512, "groups_each": 4},
    "cpu": {"workgroup": 128, "groups": 16, "finish_workgroup": 64},
}

TABLES["rows"] = {
    "any": {"workgroup": None, "items": None, "groups": 65535, "team": None, "most_items": 8, "radix": 4},
    "cpu": {"groups": 16},
}

TABLES["matvec"] = {
    "any": {
        "workgroup": 256,
        "items": 4,
        "rows": None,
        "groups": None,
        "groups_each": 16,
        "finish_workgroup": 256,
        "team": None,
        "team_columns": 2048,
        "radix": 4,
    },
    "cpu": {"workgroup": 128, "groups": 16, "finish_workgroup": 64},
}


def chosen_tuning(
    device: Device, algorithm: str, implementation: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the tuning values of an algorithm on a device, after checking the caller's values.

    Raises
    ------
    InvalidDispatch
        A name is unknown, or a value is invalid.
    """
    known = TABLES[algorithm]["any"]
    for name, value in given.items():
        if name not in known:
            raise InvalidDispatch(f"{algorithm} has no tuning value {name!r}; it has {', '.join(known)}.")
        _check(name, value)
    values = tuned(device, algorithm, implementation, **given)
    if values["groups"] is None:
        builtins = device.capabilities.sm_builtins
        values["groups"] = values["groups_each"] * (builtins.sm_count if builtins else _PROCESSORS)
    # Teams of lanes require full subgroups.
    size = subgroup_size(device) if implementation == "subgroup" else 1
    for name in ("workgroup", "finish_workgroup"):
        if values.get(name) is None:
            continue
        if given.get(name) is None:
            values[name] = max(size, min(values[name], most_invocations(device)) // size * size)
        elif values[name] % size:
            raise InvalidDispatch(f"{name} is a multiple of the subgroup size, {size}; not {values[name]}.")
    return values


def _check(name: str, value: Any) -> None:
    if value is None:
        return
    if name == "finish":
        if value not in FINISHES:
            raise InvalidDispatch(f"finish must be 'second' or 'ticket'; {value!r} was given.")
    elif name == "contiguous":
        if not isinstance(value, bool | np.bool_):
            raise InvalidDispatch(f"contiguous must be True or False; {value!r} was given.")
    else:
        check_whole(name, value, {"team": 0, "team_columns": 0, "radix": 2}.get(name, 1))
        if name == "team" and value & (value - 1):
            raise InvalidDispatch(
                f"team must be a power of two, or 0 for a whole workgroup; {value} was given."
            )


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def most_team(device: Device, implementation: str, workgroup: int) -> int:
    """Return the maximum size of a team: a power of two that divides the workgroup."""
    if implementation == "subgroup":
        return subgroup_size(device)
    return min(_MOST_TEAM, workgroup & -workgroup)


def check_team(implementation: str, team: int, workgroup: int) -> None:
    """Raise `InvalidDispatch` if a workgroup of the shared version is not a multiple of the team."""
    if implementation == "shared" and team and workgroup % team:
        raise InvalidDispatch(f"workgroup is a multiple of team, {team}; not {workgroup}.")


def most_invocations(device: Device) -> int:
    """Return the maximum number of invocations per workgroup of a kernel."""
    capabilities = device.capabilities
    most = int(capabilities.limits["maxComputeWorkGroupInvocations"])
    subgroups = capabilities.size_control.max_compute_workgroup_subgroups
    return min(most, subgroups * subgroup_size(device)) if subgroups else most

"""Tuning values of reductions, of rows, and of matrix times vector: defaults, and what may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.tuning import TABLES, check_whole, tuned

VECTOR = 4
"""Elements that are loaded at once."""

_MOST_TEAM = 32
_PROCESSORS = 128
"""How many multiprocessors a GPU is taken to have that does not tell."""

FINISHES = ("second", "ticket")
"""How parts become a result: by a second dispatch, or by the workgroup that comes last."""

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
    """Return the tuning values of an algorithm on a device, the given ones checked.

    Raises
    ------
    InvalidDispatch
        There is no such value, or what is given makes no sense.
    """
    known = TABLES[algorithm]["any"]
    for name, value in given.items():
        if name not in known:
            raise InvalidDispatch(f"{algorithm} has no tuning value {name!r}; it has {', '.join(known)}.")
        _check(name, value)
    found = tuned(device, algorithm, implementation, **given)
    if found["groups"] is None:
        builtins = device.capabilities.sm_builtins
        found["groups"] = found["groups_each"] * (builtins.sm_count if builtins else _PROCESSORS)
    # Teams of lanes count on full subgroups.
    size = subgroup_size(device) if implementation == "subgroup" else 1
    for name in ("workgroup", "finish_workgroup"):
        if found.get(name) is None:
            continue
        if given.get(name) is None:
            found[name] = max(size, min(found[name], most_invocations(device)) // size * size)
        elif found[name] % size:
            raise InvalidDispatch(f"{name} is a multiple of the subgroup size, {size}; not {found[name]}.")
    return found


def _check(name: str, value: Any) -> None:
    if value is None:
        return
    if name == "finish":
        if value not in FINISHES:
            raise InvalidDispatch(f"finish is 'second' or 'ticket'; {value!r} was given.")
    elif name == "contiguous":
        if not isinstance(value, bool | np.bool_):
            raise InvalidDispatch(f"contiguous is True or False; {value!r} was given.")
    else:
        check_whole(name, value, {"team": 0, "team_columns": 0, "radix": 2}.get(name, 1))
        if name == "team" and value & (value - 1):
            raise InvalidDispatch(f"team is a power of two, or 0 for a whole workgroup; {value} was given.")


def power_of_two(n: int) -> int:
    """Return the least power of two that is not below n."""
    return 1 << max(0, n - 1).bit_length()


def most_team(device: Device, implementation: str, workgroup: int) -> int:
    """Return how many invocations may share a row: a power of two that teams fill the workgroup with."""
    if implementation == "subgroup":
        return subgroup_size(device)
    return min(_MOST_TEAM, workgroup & -workgroup)


def check_team(implementation: str, team: int, workgroup: int) -> None:
    """Raise `InvalidDispatch` where teams would not fill a workgroup of the shared version."""
    if implementation == "shared" and team and workgroup % team:
        raise InvalidDispatch(f"workgroup is a multiple of team, {team}; not {workgroup}.")


def most_invocations(device: Device) -> int:
    """Return how many invocations a workgroup of a kernel may have at most."""
    capabilities = device.capabilities
    most = int(capabilities.limits["maxComputeWorkGroupInvocations"])
    subgroups = capabilities.size_control.max_compute_workgroup_subgroups
    return min(most, subgroups * subgroup_size(device)) if subgroups else most

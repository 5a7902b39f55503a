"""Tuning values of reductions, row normalization and matrix-vector products: defaults and valid values.

- `workgroup`: invocations per workgroup.
- `items`: vectors of four elements (or rows of a column) that an invocation loads before it uses the first.
  In row normalization, an invocation holds them in registers; a row that does not fit is read twice.
- `most_items`: maximum of `items` by default (row normalization).
- `team_items`: longest row, in vectors per invocation, that uses a small team (row normalization).
- `rows`: rows of a matrix that a team reads together, 1 to 4 (matrix-vector products).
- `groups`: the approximate number of workgroups; a few long rows are divided into parts to reach it. Default:
  `groups_each` for each multiprocessor; if the device does not report their number, a fixed one is assumed.
- `finish`: how the parts of a row are combined. ``"second"``: by a second dispatch, with workgroups of
  `finish_workgroup`. ``"ticket"``: in the same dispatch, by the last workgroup that finishes.
- `contiguous`: whether a part is contiguous in its row; otherwise the tiles of the parts are interleaved.
- `team`: invocations that share a row (a power of two, at most the subgroup size in the subgroup version); 0:
  a whole workgroup. By default, rows of at most `team_columns` elements use small teams.
- `radix`: states that the shared version combines into one in each round of its tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.tuning import TABLES, Allowed, checked_values, whole

VECTOR = 4
"""Elements of a vector, which is loaded at once."""

MOST_TEAM = 32
"""Maximum number of invocations of a team in the shared version."""

_PROCESSORS = 128
"""Assumed number of multiprocessors of a GPU that does not report it."""

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
    "any": {
        "workgroup": None,
        "items": None,
        "groups": 65535,
        "team": None,
        "team_items": 8,
        "most_items": 8,
        "radix": 4,
    },
    # A team of a subgroup reads longer rows several times. Barriers take longer on CPU drivers.
    "cpu": {"groups": 16, "team_items": 128},
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

_ALLOWED: dict[str, Allowed] = {
    "finish": ("second", "ticket"),
    "contiguous": bool,
    "team": whole("team", 0),
    "team_columns": whole("team_columns", 0),
    "radix": whole("radix", 2),
}


def reduction_values(
    device: Device, algorithm: str, implementation: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the tuning values of an algorithm on a device, after checking the caller's values."""
    values = checked_values(device, algorithm, implementation, given, _ALLOWED)
    team = values["team"]
    if team is not None and team & (team - 1):
        raise InvalidDispatch(f"team must be a power of two, or 0 for a whole workgroup; {team} was given.")
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


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def most_team(device: Device, implementation: str, workgroup: int) -> int:
    """Return the maximum size of a team: a power of two that divides the workgroup."""
    if implementation == "subgroup":
        return subgroup_size(device)
    return min(MOST_TEAM, workgroup & -workgroup)


def team_lanes(device: Device, implementation: str, team: int) -> int:
    """Return the number of lanes that a team occupies: at most a subgroup in the subgroup version."""
    return min(team, subgroup_size(device)) if implementation == "subgroup" else team


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

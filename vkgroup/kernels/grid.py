"""Grids of workgroups, choice of the version, and checks of tuning values, for kernels that work on tiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.pipelines import choose, full_subgroups, subgroup_size
from vkgroup.kernels.tuning import TABLES, check_whole, tuned


def parts(size: int, each: int) -> int:
    """Return the number of parts of size `each` that cover `size`."""
    return -(-size // each)


def line(device: Device, count: int) -> tuple[int, int]:
    """Return a two-dimensional grid of at least `count` workgroups, numbered row by row.

    A workgroup's number is ``gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x``. Workgroups with
    numbers of `count` or more return at once.

    Raises
    ------
    Unsupported
        The device does not support a grid of this size.
    """
    across, down, _ = device.capabilities.limits["maxComputeWorkGroupCount"]
    rows = parts(count, across)
    if rows > down:
        raise Unsupported(
            f"{device.name} does not support a grid of {count} workgroups; use larger tiles, or split"
            " the input.",
            [f"maxComputeWorkGroupCount of {count} (it is {across} × {down})"],
        )
    return min(count, across), rows


def chosen(device: Device, algorithm: str, implementation: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the tuning values of one version of an algorithm, after checking the caller's values.

    The caller may set the values that the table ``"algorithm.implementation"`` has under ``"any"``; None
    keeps the table's value.

    Raises
    ------
    InvalidDispatch
        A value has an unknown name, is not a positive integer, or is out of range.
    """
    known = TABLES[f"{algorithm}.{implementation}"]["any"]
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known)
            raise InvalidDispatch(
                f"The {implementation} version of {algorithm} has no tuning value {name!r}; it has {names}."
            )
        if value is not None:
            check_whole(name, value)
    return tuned(device, algorithm, implementation, **given)


def of_version(algorithm: str, implementation: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the tuning values that a version of an algorithm has."""
    known = TABLES[f"{algorithm}.{implementation}"]["any"]
    return {name: value for name, value in values.items() if name in known}


def choose_full(device: Device, implementation: str, *operations: str, kinds: tuple[str, ...] = ()) -> str:
    """Resolve ``"auto"`` as `choose`, for kernels that require full subgroups.

    If the device does not guarantee full subgroups (`computeFullSubgroups`), the shared version is selected.
    """
    version = choose(device, implementation, *operations, kinds=kinds)
    return "shared" if implementation == "auto" and not full_subgroups(device) else version


def require_full(device: Device, implementation: str, workgroup: int) -> None:
    """Raise `InvalidDispatch` if a subgroup version's workgroup is not a multiple of the subgroup size."""
    size = subgroup_size(device)
    if implementation == "subgroup" and workgroup % size:
        raise InvalidDispatch(f"workgroup must be a multiple of the subgroup size {size}, not {workgroup}.")


def require_power(**values: int) -> None:
    """Raise `InvalidDispatch` if a value is not a power of two."""
    for name, value in values.items():
        if value < 1 or value & (value - 1):
            raise InvalidDispatch(f"{name} must be a power of two; it is {value}.")


def require_multiple(name: str, value: int, factor: int) -> None:
    """Raise `InvalidDispatch` if a value is not a positive multiple of a factor."""
    if value < 1 or value % factor:
        raise InvalidDispatch(f"{name} must be a positive multiple of {factor}; it is {value}.")

"""Kernels of tiles: how many workgroups they get, which version runs, and their tuning values, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.pipelines import choose, full_subgroups, subgroup_size
from vkgroup.kernels.tuning import TABLES, check_whole, tuned


def parts(size: int, each: int) -> int:
    """Return how many parts of `each` cover `size`."""
    return -(-size // each)


def line(device: Device, count: int) -> tuple[int, int]:
    """Return a grid of at least `count` workgroups for kernels that number them row by row.

    The kernel's number is ``gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x``; those from `count`
    on have nothing to do.

    Raises
    ------
    Unsupported
        The device has no grids that large.
    """
    across, down, _ = device.capabilities.limits["maxComputeWorkGroupCount"]
    rows = parts(count, across)
    if rows > down:
        raise Unsupported(
            f"{device.name} has no grid of {count} workgroups; give larger tiles, or less at once.",
            [f"maxComputeWorkGroupCount of {count} (it is {across} × {down})"],
        )
    return min(count, across), rows


def chosen(device: Device, algorithm: str, implementation: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the tuning values of one version of an algorithm, the given ones checked.

    Those that the table ``"algorithm.implementation"`` names under ``"any"`` may be given; None keeps the
    table's value.

    Raises
    ------
    InvalidDispatch
        There is no such value, or it is no positive integer, or one that makes no sense.
    """
    known = TABLES[f"{algorithm}.{implementation}"]["any"]
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known)
            raise InvalidDispatch(
                f"{algorithm} has no tuning value {name!r} in its {implementation} version; it has {names}."
            )
        if value is not None:
            check_whole(name, value)
    return tuned(device, algorithm, implementation, **given)


def of_version(algorithm: str, implementation: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some tuning values that a version of an algorithm has."""
    known = TABLES[f"{algorithm}.{implementation}"]["any"]
    return {name: value for name, value in values.items() if name in known}


def choose_full(device: Device, implementation: str, *operations: str, kinds: tuple[str, ...] = ()) -> str:
    """Resolve ``"auto"`` for kernels whose subgroups have to be full: as `choose`.

    Where the device does not promise that (`computeFullSubgroups`), it is the shared version.
    """
    found = choose(device, implementation, *operations, kinds=kinds)
    return "shared" if implementation == "auto" and not full_subgroups(device) else found


def require_full(device: Device, implementation: str, workgroup: int) -> None:
    """Raise `InvalidDispatch` where subgroups have to be full and the workgroup is no multiple of them."""
    size = subgroup_size(device)
    if implementation == "subgroup" and workgroup % size:
        raise InvalidDispatch(f"workgroup must be a multiple of the subgroup size {size}, not {workgroup}.")


def require_power(**values: int) -> None:
    """Raise `InvalidDispatch` where a value is no power of two."""
    for name, value in values.items():
        if value < 1 or value & (value - 1):
            raise InvalidDispatch(f"{name} must be a power of two; it is {value}.")


def require_multiple(name: str, value: int, factor: int) -> None:
    """Raise `InvalidDispatch` where a value is no multiple of another."""
    if value < 1 or value % factor:
        raise InvalidDispatch(f"{name} must be a positive multiple of {factor}; it is {value}.")

"""Decoupled look-back of one-pass kernels: memory for the states of tiles, macros and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import largest_workgroup, parts, possible_workgroup, subgroup_size
from vkgroup.kernels.plan import Planner
from vkgroup.kernels.tuning import Allowed, checked_values

LOOK_BACK = "look_back"
"""Name of the scratch memory."""

OPERATIONS = ("basic", "vote", "ballot", "shuffle", "shuffle_relative", "arithmetic")
"""Categories of subgroup operations that the subgroup versions need."""

COUNTS = 30
"""Payload bits of numbers below 2**30, which fit into one 32-bit word together with their status."""

MOST_OF_ONE_GROUP = 4096
"""Maximum number of elements of an array that one workgroup handles alone."""

_COUNTERS = 16
ALLOWED: dict[str, Allowed] = {
    "spins": range(2**32),
    "silent": range(2**32),
    "mute": range(4),
    "order": range(2),
    "staged": range(2),
    "payload": (16, 32),
    "one_group": range(MOST_OF_ONE_GROUP + 1),
    "in_turn": range(33),
}
"""Valid values of tuning parameters that are not positive integers."""


@dataclass(frozen=True)
class Tiling:
    """Division of an array into tiles, and the parameters of their look-back.

    A tile publishes a value of `bits` bits (32 or 64), in atomic units of `payload` bits (32, 16 or
    `COUNTS`). If one workgroup handles all tiles (`alone`), there is no look-back.
    """

    workgroup: int
    items: int
    tiles: int
    bits: int
    payload: int
    tuning: Mapping[str, Any]
    alone: bool = False

    @property
    def groups(self) -> int:
        """Number of workgroups."""
        return 1 if self.alone else self.tiles

    @property
    def nbytes(self) -> int:
        """Size in bytes of the counter and of the aggregates and prefixes of all tiles."""
        units = 1 if self.payload == COUNTS else self.bits // self.payload
        return int(_COUNTERS + 2 * self.tiles * units * (8 if self.payload == 32 else 4))

    def macros(self) -> dict[str, Any]:
        """Return the macros of ``kernels/include/look_back*.glsl``, or of ``one_group.glsl``."""
        if self.alone:
            return {"ONE_GROUP": 1}
        return {"PAYLOAD": self.payload, "DEPTH": self.tuning["depth"], "ORDER": self.tuning["order"]}

    def constants(self, implementation: str) -> dict[str, Any]:
        """Return the specialization constants of the kernel."""
        constants: dict[str, Any] = {"ITEMS": self.items}
        if self.alone:
            return constants
        constants |= {name.upper(): self.tuning[name] for name in ("spins", "silent", "mute")}
        if implementation == "shared":
            constants["GROUP"] = self.tuning["group"]
        return constants

    def clear(self, planner: Planner) -> dict[int, str]:
        """Declare the memory and add a fill that clears it; return the binding."""
        if self.alone:
            return {}
        planner.scratch(LOOK_BACK, self.nbytes)
        planner.fill(LOOK_BACK, 0)
        return {2: LOOK_BACK}


def look_back_defaults() -> dict[str, Any]:
    """Return the default tuning values of every look-back.

    ``depth``: tiles per group divided by the subgroup size, in the subgroup version; the leader of a group
    publishes the prefixes of its tiles. ``group``: tiles per group in the shared version. ``spins``: polls
    before a workgroup stops waiting and computes the missing values itself. ``order``: 1 assigns tiles in the
    order in which workgroups start, 0 in the order of workgroup numbers. ``payload``: 32 uses 64-bit atomics,
    16 uses 32-bit atomics, None uses 64-bit atomics if the device has them. ``one_group``: arrays of at most
    this length are handled by one workgroup, without a look-back; 0 if another tuning value is given.
    ``in_turn``: 0 makes them one tile, of as many invocations as it needs; otherwise the workgroup is one
    subgroup, which handles tiles of this size (items per invocation) in turn. ``silent`` and ``mute`` are for
    tests: they suppress values that tiles should publish.
    """
    return {
        "depth": 2,
        "group": 64,
        "spins": 256,
        "order": 1,
        "payload": None,
        "one_group": MOST_OF_ONE_GROUP,
        "in_turn": 0,
        "silent": 0,
        "mute": 0,
    }


def look_back_values(
    device: Device, algorithm: str, implementation: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the tuning values of a kernel with a look-back, after checking the caller's values."""
    values = checked_values(device, algorithm, implementation, given, ALLOWED)
    others = [value for name, value in given.items() if name != "in_turn"]
    if given.get("one_group") is None and any(value is not None for value in others):
        values["one_group"] = 0
    return values


def tile(
    device: Device,
    implementation: str,
    count: int,
    tuning: Mapping[str, Any],
    *,
    bits: int,
    width: int,
    payload: int | None = None,
) -> Tiling:
    """Divide `count` elements into tiles of vectors of `width` elements that publish values of `bits` bits.

    The tuning value ``items`` counts 32-bit elements, and is halved for 64-bit elements. `payload`: None
    selects that of the tuning, or the widest that the device has atomics for.
    """
    if count <= tuning["one_group"] and (alone := _alone(device, implementation, count, tuning, width)):
        workgroup, items = alone
        return Tiling(workgroup, items, parts(count, workgroup * items), bits, COUNTS, tuning, alone=True)
    workgroup = possible_workgroup(device, int(tuning["workgroup"]))
    lanes = subgroup_size(device) if implementation == "subgroup" else 1
    if workgroup % lanes:
        raise InvalidDispatch(f"workgroup is a multiple of the subgroup size, {lanes}; not {workgroup}.")
    items = _items(tuning, "items", width)
    if payload is None and (payload := tuning["payload"]) is None:
        wide = {"shaderInt64", "shaderBufferInt64Atomics"} <= device.capabilities.features
        payload = 32 if wide else 16
    return Tiling(workgroup, items, parts(count, workgroup * items), bits, payload, tuning)


def _alone(
    device: Device, implementation: str, count: int, tuning: Mapping[str, Any], width: int
) -> tuple[int, int] | None:
    """Return the size of a workgroup that handles all elements, and its items, or None if it is too large."""
    if tuning["in_turn"]:
        return subgroup_size(device), _items(tuning, "in_turn", width)
    lanes = subgroup_size(device) if implementation == "subgroup" else 1
    most = largest_workgroup(device)
    for items in (width, 2 * width, 4 * width):
        if (needed := max(lanes, parts(count, items))) <= most:
            return 1 << (needed - 1).bit_length(), items
    return None


def _items(tuning: Mapping[str, Any], name: str, width: int) -> int:
    """Return a tuning value that counts 32-bit items as a number of items of vectors of `width`."""
    items = int(tuning[name])
    if width == 2:
        items = max(width, items // 2)
    if items % width or items > 32:
        raise InvalidDispatch(f"{name} must be a multiple of 4, at most 32; {tuning[name]} was given.")
    return items

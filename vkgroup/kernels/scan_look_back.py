"""Decoupled look-back of one-pass kernels: memory for the states of tiles, macros and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import parts, possible_workgroup, subgroup_size
from vkgroup.kernels.plan import Planner
from vkgroup.kernels.tuning import Allowed

LOOK_BACK = "look_back"
"""Name of the scratch memory."""

OPERATIONS = ("basic", "vote", "ballot", "shuffle", "shuffle_relative", "arithmetic")
"""Categories of subgroup operations that the subgroup versions need."""

COUNTS = 30
"""Payload bits of numbers below 2**30, which fit into one 32-bit word together with their status."""

_COUNTERS = 16
ALLOWED: dict[str, Allowed] = {
    "spins": range(2**32),
    "silent": range(2**32),
    "mute": range(4),
    "order": range(2),
    "staged": range(2),
    "payload": (16, 32),
}
"""Valid values of tuning parameters that are not positive integers."""


@dataclass(frozen=True)
class Tiling:
    """Division of an array into tiles, and the parameters of their look-back.

    A tile publishes a value of `bits` bits (32 or 64), in atomic units of `payload` bits (32, 16 or
    `COUNTS`).
    """

    workgroup: int
    items: int
    tiles: int
    bits: int
    payload: int
    tuning: Mapping[str, Any]

    @property
    def nbytes(self) -> int:
        """Size in bytes of the counter and of the aggregates and prefixes of all tiles."""
        units = 1 if self.payload == COUNTS else self.bits // self.payload
        return _COUNTERS + 2 * self.tiles * units * (8 if self.payload == 32 else 4)

    def macros(self) -> dict[str, Any]:
        """Return the macros of ``kernels/include/look_back*.glsl``."""
        return {"PAYLOAD": self.payload, "DEPTH": self.tuning["depth"], "ORDER": self.tuning["order"]}

    def constants(self, implementation: str) -> dict[str, Any]:
        """Return the specialization constants of the kernel."""
        constants: dict[str, Any] = {"ITEMS": self.items}
        constants |= {name.upper(): self.tuning[name] for name in ("spins", "silent", "mute")}
        if implementation == "shared":
            constants["GROUP"] = self.tuning["group"]
        return constants

    def clear(self, planner: Planner) -> str:
        """Declare the memory and add a fill that clears it; return its name."""
        planner.scratch(LOOK_BACK, self.nbytes)
        planner.fill(LOOK_BACK, 0)
        return LOOK_BACK


def look_back_defaults() -> dict[str, Any]:
    """Return the default tuning values of every look-back.

    ``depth``: tiles per group divided by the subgroup size, in the subgroup version; the leader of a group
    publishes the prefixes of its tiles. ``group``: tiles per group in the shared version. ``spins``: polls
    before a workgroup stops waiting and computes the missing values itself. ``order``: 1 assigns tiles in the
    order in which workgroups start, 0 in the order of workgroup numbers. ``payload``: 32 uses 64-bit atomics,
    16 uses 32-bit atomics, None uses 64-bit atomics if the device has them. ``silent`` and ``mute`` are for
    tests: they suppress values that tiles should publish.
    """
    return {"depth": 2, "group": 64, "spins": 256, "order": 1, "payload": None, "silent": 0, "mute": 0}


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
    workgroup = possible_workgroup(device, int(tuning["workgroup"]))
    lanes = subgroup_size(device) if implementation == "subgroup" else 1
    if workgroup % lanes:
        raise InvalidDispatch(f"workgroup is a multiple of the subgroup size, {lanes}; not {workgroup}.")
    items = int(tuning["items"])
    if width == 2:
        items = max(width, items // 2)
    if items % width or items > 32:
        raise InvalidDispatch(f"items must be a multiple of 4, at most 32; {tuning['items']} was given.")
    if payload is None and (payload := tuning["payload"]) is None:
        wide = {"shaderInt64", "shaderBufferInt64Atomics"} <= device.capabilities.features
        payload = 32 if wide else 16
    return Tiling(workgroup, items, parts(count, workgroup * items), bits, payload, tuning)

"""The decoupled look-back of one-pass kernels: memory for the tiles' states, macros and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.grid import line, parts
from vkgroup.kernels.pipelines import subgroup_size
from vkgroup.kernels.plan import Planner
from vkgroup.kernels.tuning import check_whole

LOOK_BACK = "look_back"
"""The name of the scratch memory."""

OPERATIONS = ("basic", "vote", "ballot", "shuffle", "shuffle_relative", "arithmetic")
"""Categories of subgroup operations that the subgroup versions need."""

COUNTS = 30
"""Payload of numbers below 2**30: they fit into one word of 32 bits with their status."""

_COUNTERS = 16
_LARGEST = {"spins": 2**32 - 1, "silent": 2**32 - 1, "mute": 3, "order": 1, "staged": 1}
"""Tuning values that may be 0, with the greatest that makes sense."""


@dataclass(frozen=True)
class Tiling:
    """How an array is cut into tiles, and how they find out what comes before them.

    Attributes
    ----------
    workgroup, items : invocations of a workgroup, and elements of each.
    tiles : how many there are.
    bits : of the value that a tile publishes: 32 or 64.
    payload : of these bits, how many go into one atomic unit: 32, 16 or `COUNTS`.
    tuning : the values of `look_back_defaults`, and what else the algorithm has.
    """

    workgroup: int
    items: int
    tiles: int
    bits: int
    payload: int
    tuning: Mapping[str, Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the counter, and of the aggregates and prefixes of all tiles."""
        units = 1 if self.payload == COUNTS else self.bits // self.payload
        return _COUNTERS + 2 * self.tiles * units * (8 if self.payload == 32 else 4)

    def macros(self) -> dict[str, Any]:
        """Return the macros of ``kernels/include/look_back*.glsl``."""
        return {"PAYLOAD": self.payload, "DEPTH": self.tuning["depth"], "ORDER": self.tuning["order"]}

    def constants(self, implementation: str) -> dict[int | str, Any]:
        """Return the specialization constants of the kernel."""
        found: dict[int | str, Any] = {"ITEMS": self.items}
        found |= {name.upper(): self.tuning[name] for name in ("spins", "silent", "mute")}
        if implementation == "shared":
            found["GROUP"] = self.tuning["group"]
        return found

    def grid(self, device: Device) -> tuple[int, int]:
        """Return how many workgroups are started, in two dimensions."""
        return line(device, self.tiles)

    def clear(self, planner: Planner) -> str:
        """Declare the memory, and add a fill that makes it what the kernel expects."""
        planner.scratch(LOOK_BACK, self.nbytes)
        planner.fill(LOOK_BACK, 0)
        return LOOK_BACK


def look_back_defaults() -> dict[str, Any]:
    """Return the tuning values of every look-back, with their defaults.

    ``depth``: in the subgroup version the leader of a group publishes the prefixes of so many times as many
    tiles as a subgroup has lanes. ``group``: tiles of a group in the shared version. ``spins``: polls before
    a workgroup stops waiting, and computes what others should have. ``order``: 1 takes tiles in the order in
    which workgroups start, 0 in the order of their numbers. ``payload``: 32 for atomics of 64 bits, 16 for
    atomics of 32 bits, None for the first where the device has it. ``silent`` and ``mute`` are for tests:
    they leave out what tiles should publish.
    """
    return {
        "depth": 2,
        "group": 64,
        "spins": 256,
        "order": 1,
        "payload": None,
        "silent": 0,
        "mute": 0,
    }


def checked(known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `InvalidDispatch` where a tuning value is not known or makes no sense."""
    for name, value in given.items():
        if name not in known:
            raise InvalidDispatch(f"There is no value {name!r} to tune; there are {', '.join(known)}.")
        if value is None:
            continue
        check_whole(name, value, int(name not in _LARGEST), _LARGEST.get(name))


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
    """Cut `count` elements into tiles.

    Parameters
    ----------
    implementation : in the subgroup version a workgroup consists of full subgroups.
    tuning : checked values; ``items`` counts elements of 32 bits, of 64 bits half as many are taken.
    bits : of the published value.
    width : elements of a vector; the items of an invocation are a multiple of it, 32 at most.
    payload : None takes that of the tuning, or the widest that the device has atomics for.

    Raises
    ------
    InvalidDispatch
        The items are no multiple of the width, or more than 32; the workgroup is none of the subgroup size.
    Unsupported
        The device has no grid of so many tiles.
    """
    limits = device.capabilities.limits
    workgroup = min(int(tuning["workgroup"]), int(limits["maxComputeWorkGroupInvocations"]))
    lanes = subgroup_size(device) if implementation == "subgroup" else 1
    if workgroup % lanes:
        raise InvalidDispatch(f"workgroup is a multiple of the subgroup size, {lanes}; not {workgroup}.")
    items = int(tuning["items"])
    if width == 2:
        items = max(width, items // 2)
    if items % width or items > 32:
        raise InvalidDispatch(f"items is a multiple of 4, and 32 at most; {tuning['items']} was given.")
    if payload is None:
        payload = _payload(device, tuning["payload"])
    return Tiling(workgroup, items, parts(count, workgroup * items), bits, payload, tuning)


def _payload(device: Device, given: int | None) -> int:
    if given not in (None, 16, 32):
        raise InvalidDispatch(f"payload is 16 or 32; {given} was given.")
    if given is not None:
        return given
    wide = {"shaderInt64", "shaderBufferInt64Atomics"} <= device.capabilities.features
    return 32 if wide else 16

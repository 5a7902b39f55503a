"""Tuning values of the radix sort: defaults by kind of device, valid values, and device limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import parts, subgroup_size
from vkgroup.kernels.tuning import TABLES, Allowed, checked_values, whole

MATCHES = ("ballot", "shared", "partition")
"""Methods to find lanes with the same digit, in the order of ``kernels/radix_sort/subgroup_pass.comp``."""

CLAIMS = ("write", "add")
"""Methods to rank a key among the subgroup's keys with its digit, in the order of that file."""

_SHARED_ITEMS = {1: 15, 2: 11, 3: 9, 4: 7}
_SUBGROUP_ITEMS = {1: 18, 2: 16, 3: 10, 4: 8}
_ANY = {
    "workgroup": 256,
    "items": None,
    "radix_bits": 8,
    "match": "ballot",
    "claim": "write",
    "early": False,
    "spins": 256,
    "look": 4,
    "tickets": True,
    "skip": True,
    "clear": False,
    "unroll": True,
    "mute": 0,
    "histogram_workgroup": 256,
    "histogram_items": 16,
    "histogram_groups": 1056,
    "histogram_copies": 1,
}
_CPU = {
    "workgroup": 64,
    "items": 32,
    "spins": 16,
    "look": 1,
    "unroll": False,
    "histogram_workgroup": 128,
    "histogram_items": 4,
    "histogram_groups": 16,
}
_NVIDIA = {"workgroup": 384, "items": 22, "look": 8, "tickets": False, "spins": 100_000}
TABLES["radix_sort.subgroup"] = {"any": _ANY, "nvidia": {**_NVIDIA, "early": True, "look": 4}, "cpu": _CPU}
TABLES["radix_sort.shared"] = {"any": _ANY, "nvidia": _NVIDIA, "cpu": {**_CPU, "items": 31}}

_MOST_KEYS = 65535
_ALLOWED: dict[str, Allowed] = {
    # The size of the tile limits the items; see `_check_together`.
    "items": range(1, _MOST_KEYS + 1),
    "radix_bits": range(4, 9),
    "match": MATCHES,
    "claim": CLAIMS,
    **dict.fromkeys(("early", "tickets", "skip", "clear", "unroll"), bool),
    "spins": whole("spins", 0),
    "mute": whole("mute", 0),
    "histogram_items": whole("histogram_items", 4),
}
_MOST_COUNTERS = 16384
_WORD = 4


@dataclass(frozen=True)
class SortTuning:
    """The tuning values of a sort.

    Attributes
    ----------
    workgroup, items : invocations per workgroup of a pass, and keys per invocation; a tile has as many keys
        as their product.
    radix_bits : bits of a digit, 4 to 8; more bits mean fewer passes.
    match, claim : one of `MATCHES`, and one of `CLAIMS` (subgroup version).
    early : count the digits of a tile before ranking its keys, so that the counts are published sooner
        (subgroup version).
    spins : number of unsuccessful polls of another tile's count before a workgroup counts that tile itself.
    look : counts that the look-back reads at once.
    tickets : assign tiles to workgroups in the order in which they start; otherwise by workgroup number.
    skip : skip passes whose digit is the same in all keys.
    clear : clear the words of the look-back before each pass instead of once.
    unroll : ask the driver to unroll loops; on CPUs this makes compilation many times slower.
    mute : every `mute`-th tile publishes nothing, for tests; 0: all tiles publish.
    histogram_workgroup, histogram_items, histogram_groups, histogram_copies : values of the histogram:
    invocations per workgroup, keys that an invocation loads at once, maximum number of workgroups, and tables
    of counts per workgroup.
    """

    workgroup: int
    items: int
    radix_bits: int
    match: str
    claim: str
    early: bool
    spins: int
    look: int
    tickets: bool
    skip: bool
    clear: bool
    unroll: bool
    mute: int
    histogram_workgroup: int
    histogram_items: int
    histogram_groups: int
    histogram_copies: int

    @property
    def radix(self) -> int:
        """Number of values of a digit."""
        return 1 << self.radix_bits

    @property
    def tile(self) -> int:
        """Number of keys of a tile."""
        return self.workgroup * self.items


def sort_tuning(
    device: Device, implementation: str, key_words: int, value_words: int, given: dict[str, Any]
) -> SortTuning:
    """Return the tuning values of a sort on a device, after checking the caller's values.

    Default workgroups and items are reduced to fit the device's shared memory. A key has `key_words` words of
    32 bits, and its value `value_words` or 0.
    """
    values = checked_values(device, "radix_sort", implementation, given, _ALLOWED)
    given = {name: value for name, value in given.items() if value is not None}
    size = subgroup_size(device)
    limits = device.capabilities.limits
    most = int(limits["maxComputeWorkGroupInvocations"])
    for name in ("workgroup", "histogram_workgroup"):
        if name not in given:
            values[name] = max(size, min(values[name], most) // size * size)
    if implementation == "subgroup" and "workgroup" not in given:
        # Each subgroup has its own counters, so workgroups of small subgroups must have few subgroups.
        subgroups = _MOST_COUNTERS // (_WORD << values["radix_bits"])
        values["workgroup"] = size * max(1, min(values["workgroup"] // size, subgroups))
    if values["items"] is None:
        table = _SUBGROUP_ITEMS if implementation == "subgroup" else _SHARED_ITEMS
        values["items"] = table[key_words + value_words]
    chosen = SortTuning(**values)
    memory = int(limits["maxComputeSharedMemorySize"])
    needed = shared_bytes(chosen, implementation, size, key_words, value_words)
    while needed > memory and "items" not in given and chosen.items > 1:
        chosen = replace(chosen, items=chosen.items - 1)
        needed = shared_bytes(chosen, implementation, size, key_words, value_words)
    _check_together(chosen, implementation, size)
    if needed > memory:
        raise Unsupported(
            f"{device.name} has {memory} bytes of shared memory, and these values need {needed}. Use a"
            " smaller workgroup, fewer items or a smaller radix_bits.",
            [f"maxComputeSharedMemorySize of {needed} (it is {memory})"],
        )
    return chosen


def shared_bytes(values: SortTuning, implementation: str, size: int, key_words: int, value_words: int) -> int:
    """Return an upper bound of the shared memory of a pass in bytes; `size` is the subgroup size."""
    cell = max(key_words, value_words) * _WORD
    tables = 2 * values.radix * _WORD + 64
    if implementation == "subgroup":
        each = _WORD * values.radix
        if values.match == "shared":
            each += each * mask_words(size)
        return tables + values.tile * cell + parts(values.workgroup, size) * (each + _WORD)
    own = 0 if key_words == 1 and value_words == 0 else cell
    counters = 8 * _WORD * values.workgroup
    sums = _WORD * (values.workgroup + 2 * parts(values.workgroup, 16))
    return tables + 2 * values.radix * _WORD + counters + sums + values.tile * (_WORD + own)


def mask_words(size: int) -> int:
    """Return the number of words in which the kernels store one bit per lane of a subgroup."""
    return 1 if size <= 32 else 2 if size <= 64 else 4


def _check_together(values: SortTuning, implementation: str, size: int) -> None:
    if values.histogram_items % 4:
        raise InvalidDispatch(f"histogram_items must be a multiple of 4; {values.histogram_items} was given.")
    if values.tile > _MOST_KEYS:
        raise InvalidDispatch(f"A tile must have fewer than 65536 keys; workgroup × items is {values.tile}.")
    if implementation == "shared" and values.workgroup % 16:
        raise InvalidDispatch(
            f"The workgroup of the shared version must be a multiple of 16; it is {values.workgroup}."
        )
    if implementation == "subgroup":
        for name in ("workgroup", "histogram_workgroup"):
            if getattr(values, name) % size:
                raise InvalidDispatch(
                    f"{name} must be a multiple of the subgroup size, {size}; {getattr(values, name)}"
                    " was given."
                )

"""Differences between two descriptions of a device (`Capabilities.to_json`, experiments of a probe)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_GROUPS = {"features": "feature", "extensions": "extension", "limits": "limit"}
_ORDER = ("property", *_GROUPS.values(), "experiment")
_SENTENCES = ("status", "sentence")
# Identifies a board, and is not a capability.
_BOARD = ("uuid",)


@dataclass(frozen=True)
class CapabilityChange:
    """One difference between two devices, or between two drivers of one device.

    Attributes
    ----------
    group : ``"feature"``, ``"extension"``, ``"limit"``, ``"property"`` (all else that is declared) or
        ``"experiment"`` (the probe's observation).
    name : Vulkan's name if there is one, else the dotted name in `vkgroup.device.Capabilities`.
    old, new : the values; None if missing. For a feature or another member of a set, True if present.
    """

    group: str
    name: str
    old: Any
    new: Any

    def to_json(self) -> dict[str, Any]:
        """Return the change as plain JSON data."""
        return {"group": self.group, "name": self.name, "old": self.old, "new": self.new}


def capability_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    old_experiments: Mapping[str, Any] | None = None,
    new_experiments: Mapping[str, Any] | None = None,
) -> tuple[CapabilityChange, ...]:
    """Compare the capabilities of two devices.

    Parameters
    ----------
    old, new : as `vkgroup.device.Capabilities.to_json` gives them.
    old_experiments, new_experiments : of two probes; compared by status and sentence if both are given.

    Returns
    -------
    The changes by group, in the order of names.
    """
    before, after = dict(_facts(old)), dict(_facts(new))
    if old_experiments is not None and new_experiments is not None:
        before |= dict(_sentences(old_experiments))
        after |= dict(_sentences(new_experiments))
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    changed.sort(key=lambda key: (_ORDER.index(key[0]), key[1]))
    return tuple(CapabilityChange(*key, before.get(key), after.get(key)) for key in changed)


def _facts(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield each fact by its group and name."""
    for name, value in data.items():
        if name in _BOARD:
            continue
        group = _GROUPS.get(name)
        yield from _flat(group or "property", "" if group else name, value)


def _flat(group: str, name: str, value: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the facts in a value: entries of tables by name, members of sets (lists of words or tables)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(group, f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and value and all(isinstance(one, str | dict) for one in value):
        for one in value:
            member = one if isinstance(one, str) else json.dumps(one, sort_keys=True)
            yield (group, f"{name}.{member}" if name else member), True
    elif value != []:
        yield (group, name), value


def _sentences(experiments: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, seen in experiments.items():
        if isinstance(seen, dict):
            words = [str(seen[key]) for key in _SENTENCES if key in seen]
            yield ("experiment", name), ": ".join(words)

"""Roadmap profiles: what a device lacks of them (Vulkan 1.4, appendix "Vulkan Roadmap Milestones").

The table is made of that of Khronos (``tests/campaigns/roadmap_table.py``). Extensions of the instance, which
are of window systems, are not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vkgroup.base.files import read_text
from vkgroup.device import vk

_TABLE = Path(__file__).parents[1] / "spec" / "roadmap.json"


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(read_text(_TABLE))
    return table


def lacking(
    functions: vk.Functions,
    physical: Any,
    version: tuple[int, int, int],
    limit: tuple[int, int, int],
    extensions: Mapping[str, int],
) -> dict[str, tuple[str, ...]]:
    """Return for each profile what a device with Vulkan 1.1 or later lacks, by Vulkan's names.

    `version`: the device's own version, which a profile requires. `limit`: the version of the loader; newer
    structs cannot be read through it, so a profile with a newer version is not examined.
    """
    table = _table()
    usable = {
        name: struct
        for name, struct in table["structs"].items()
        if struct["needs"] in extensions or _has(min(version, limit), struct["needs"])
    }
    features = {
        name: vk.BoolStruct(name, struct["members"], struct["type"])
        for name, struct in usable.items()
        if "Features" in name
    }
    head = vk.new("VkPhysicalDeviceFeatures2")
    vk.chain([head, *features.values()])
    functions.vkGetPhysicalDeviceFeatures2(physical, head)
    has = {name for name in dir(head.features) if getattr(head.features, name) == 1}
    has.update(*(struct.true() for struct in features.values()))
    limits = _limits(functions, physical, usable)
    return {
        title: tuple(_lacking(profile, version, limit, extensions, has, limits))
        for title, profile in table["profiles"].items()
    }


def _has(version: tuple[int, ...], needed: str) -> bool:
    """Return whether a version is at least one such as ``"1.4"``; false for the name of an extension."""
    parts = needed.split(".")
    return parts[0].isdigit() and version >= tuple(map(int, parts))


def _limits(functions: vk.Functions, physical: Any, usable: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of all property structs by name."""
    head, structs = vk.new("VkPhysicalDeviceProperties2"), dict[str, Any]()
    for name, struct in usable.items():
        if "Properties" in name:
            # What is newer than the package's headers has members of 32 bits only.
            is_newer = not struct["needs"][0].isdigit()
            structs[name] = (
                vk.BoolStruct(name, struct["members"], struct["type"]) if is_newer else vk.new(name)
            )
    vk.chain([head, *structs.values()])
    functions.vkGetPhysicalDeviceProperties2(physical, head)
    limits = {name: _copied(getattr(head.properties.limits, name)) for name in dir(head.properties.limits)}
    for name, struct in structs.items():
        if isinstance(struct, vk.BoolStruct):
            limits |= struct.words()
        else:
            limits |= {member: _copied(getattr(struct, member)) for member in usable[name]["members"]}
    return limits


def _copied(value: Any) -> Any:
    """Return a value of a struct; an array as a list, because its memory ends with the struct."""
    is_array = isinstance(value, vk.ffi.CData) and vk.ffi.typeof(value).kind == "array"
    return list(value) if is_array else value


def _lacking(
    profile: Mapping[str, Any],
    version: tuple[int, int, int],
    limit: tuple[int, int, int],
    extensions: Mapping[str, int],
    features: set[str],
    limits: Mapping[str, Any],
) -> Iterator[str]:
    """Yield what a device lacks of a profile."""
    table = _table()
    if list(limit[:2]) < profile["version"][:2] <= list(version[:2]):
        yield "a loader with Vulkan {}.{} (this one has {}.{})".format(*profile["version"][:2], *limit[:2])
        return
    if list(version) < profile["version"]:
        yield "Vulkan " + ".".join(map(str, profile["version"]))
    for name in profile["extensions"]:
        if name not in extensions and not _has(version, table["extensions"][name]):
            yield name
    yield from (name for name in profile["features"] if name not in features)
    if profile["one_of"] and not features.intersection(profile["one_of"]):
        yield " or ".join(profile["one_of"])
    for name, wanted in profile["limits"].items():
        value = limits.get(name)
        if not _keeps(value, wanted, smaller=name in table["smaller_is_better"]):
            yield name if isinstance(wanted, bool) else f"{name} of {_text(wanted)}"


def _keeps(value: Any, wanted: Any, *, smaller: bool) -> bool:
    """Return whether the value of a limit is at least what is wanted, or at most."""
    if value is None:
        return False
    if isinstance(wanted, list) and isinstance(wanted[0], str):
        return all(value & getattr(vk, name) for name in wanted)
    if isinstance(wanted, list):
        return all(value[number] >= least for number, least in enumerate(wanted))
    return bool(value <= wanted if smaller else value >= wanted)


def _text(wanted: Any) -> str:
    return " ".join(map(str, wanted)) if isinstance(wanted, list) else f"{wanted:,}"

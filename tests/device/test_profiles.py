"""Roadmap profiles: the table, made of Khronos' files, and what devices lack."""

from __future__ import annotations

from typing import Any

import vkgroup
from vkgroup.device import profiles, vk
from vkgroup.drivers import CachedDriver
from vkgroup.probe.declared import declared
from vkgroup.workers.opening import select
from vkgroup.workers.scheduler import read_capabilities

TABLE: dict[str, Any] = profiles._table()
PROFILE: dict[str, Any] = TABLE["profiles"]["Roadmap 2024"]


def test_structs_are_those_of_the_headers() -> None:
    known = [name for name in TABLE["structs"] if name in vk.ffi.list_types()[0]]
    assert len(known) > 10
    for name in known:
        struct = vk.BoolStruct(name)
        fields = [field for field, _ in vk.ffi.typeof(name).fields if field not in ("sType", "pNext")]
        assert TABLE["structs"][name]["members"] == fields
        assert TABLE["structs"][name]["type"] == struct._head.sType


def test_every_requirement_can_be_looked_up() -> None:
    core = {name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields}
    limits = {name for name, _ in vk.ffi.typeof("VkPhysicalDeviceLimits").fields}
    for struct in TABLE["structs"].values():
        core |= set(struct["members"])
    for profile in TABLE["profiles"].values():
        assert set(profile["features"]) | set(profile["one_of"]) <= core
        assert set(profile["limits"]) <= limits | core
        assert set(profile["extensions"]) <= TABLE["extensions"].keys()


def _lacking(**changes: Any) -> list[str]:
    """Return what a device lacks of Roadmap 2024 that has just that, with changes."""
    limits = dict(PROFILE["limits"])
    for name, value in limits.items():
        if isinstance(value, list) and isinstance(value[0], str):
            limits[name] = sum(getattr(vk, bit) for bit in value)
    has = {
        "version": tuple(PROFILE["version"]),
        "limit": (1, 4, 0),
        "extensions": dict.fromkeys(PROFILE["extensions"], 1),
        "features": {*PROFILE["features"], PROFILE["one_of"][0]},
        "limits": limits,
    }
    has |= changes
    return list(profiles._lacking(PROFILE, *has.values()))


def test_a_device_with_just_what_is_required_keeps_it() -> None:
    assert _lacking() == []


def test_the_versions_of_device_and_loader_are_distinguished() -> None:
    major, minor, patch = PROFILE["version"]
    older = ["Vulkan " + ".".join(map(str, PROFILE["version"]))]
    assert _lacking(version=(major, minor, patch - 1)) == older
    assert _lacking(version=(major, minor + 1, 0)) == []
    assert _lacking(limit=(major, minor, 0)) == []
    loader = [f"a loader with Vulkan {major}.{minor} (this one has {major}.{minor - 1})"]
    assert _lacking(limit=(major, minor - 1, 0)) == loader
    assert _lacking(version=(major, minor - 1, 300), limit=(major, minor - 1, 0)) == older


def test_each_extension_that_is_missing_is_named() -> None:
    for name in PROFILE["extensions"]:
        others = {other: 1 for other in PROFILE["extensions"] if other != name}
        is_core = TABLE["extensions"][name] in ("1.1", "1.2", "1.3")
        assert _lacking(extensions=others) == ([] if is_core else [name])


def test_each_feature_that_is_missing_is_named() -> None:
    choice = PROFILE["one_of"][0]
    for name in PROFILE["features"]:
        assert _lacking(features={choice, *PROFILE["features"]} - {name}) == [name]
    assert _lacking(features=set(PROFILE["features"])) == [" or ".join(PROFILE["one_of"])]


def test_limits_are_compared_in_their_direction() -> None:
    assert not profiles._keeps(4095, 4096, smaller=False)
    assert profiles._keeps(4096, 4096, smaller=False)
    assert not profiles._keeps(4097, 4096, smaller=True)
    assert not profiles._keeps((256, 255, 64), [256, 256, 64], smaller=False)
    basic, vote = vk.VK_SUBGROUP_FEATURE_BASIC_BIT, vk.VK_SUBGROUP_FEATURE_VOTE_BIT
    names = ["VK_SUBGROUP_FEATURE_BASIC_BIT", "VK_SUBGROUP_FEATURE_VOTE_BIT"]
    assert profiles._keeps(basic | vote, names, smaller=False)
    assert not profiles._keeps(basic, names, smaller=False)
    assert not profiles._keeps(None, 1, smaller=False)


def test_what_a_device_lacks_it_does_not_declare(swiftshader: CachedDriver) -> None:
    capabilities = read_capabilities(select("swiftshader"))
    assert capabilities.profiles.keys() == TABLE["profiles"].keys()
    for lacking in capabilities.profiles.values():
        assert not {*lacking} & (capabilities.features | capabilities.extensions.keys())
    lines = dict(declared(capabilities)[0].lines)
    for title, lacking in capabilities.profiles.items():
        assert lines[title].startswith("lacks " if lacking else "kept")
        assert not lacking or lacking[0] in lines[title]


def test_the_reference_device_has_no_profile() -> None:
    lines = dict(declared(read_capabilities(select("reference")))[0].lines)
    assert not any(label.startswith("Roadmap") for label in lines)


def test_profiles_are_the_same_each_time(swiftshader: CachedDriver) -> None:
    found = []
    for _ in range(8):
        with vkgroup.open(swiftshader.name) as opened:
            found.append(opened.capabilities.profiles)
    assert found == found[:1] * 8

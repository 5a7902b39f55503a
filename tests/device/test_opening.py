"""Choosing among all devices, and what is left where there is no driver and no loader."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidInput, NoDevice, Unsupported
from vkgroup.dispatch.vulkan import VulkanDevice
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import devices, open_device, select

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.fixture
def no_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Vulkan. What this process has loaded already is forgotten for the time."""
    from vkgroup.device import vk

    monkeypatch.setenv("VKGROUP_LOADER", "/nowhere/libvulkan.so.1")
    monkeypatch.setattr(vk, "_loader", None)


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swiftshader: CachedDriver) -> None:
    """A machine with a Vulkan loader, and no driver."""
    monkeypatch.setenv("VKGROUP_LOADER", str(swiftshader.loader))
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path))
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "none.json"))


def test_the_reference_device_is_listed_last(swiftshader: CachedDriver, lavapipe: CachedDriver) -> None:
    found = devices()
    assert found.devices[-1].is_reference
    assert not any(device.is_reference for device in found.devices[:-1])
    assert found.default is not None
    assert not found.default.is_reference


@pytest.mark.parametrize("none", ["no_loader", "no_driver"])
def test_without_vulkan_the_reference_device_is_the_default(
    none: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(none)
    found = devices()
    assert [device.is_reference for device in found.devices] == [True]
    assert select().is_reference
    assert select(0).is_reference
    with open_device() as device:
        assert device.capabilities.driver_name == "vkgroup"
        assert device.capabilities.subgroup.size == 32


@pytest.mark.parametrize("choice", ["lavapipe", "swiftshader", "gpu", "nonesuch", 1])
def test_without_a_loader_other_choices_say_what_is_missing(no_loader: None, choice: str | int) -> None:
    with pytest.raises(NoDevice, match="No Vulkan loader could be loaded") as caught:
        select(choice)
    assert "vkgroup drivers fetch swiftshader" in str(caught.value)


def test_without_a_driver_other_choices_list_the_reference_device(no_driver: None) -> None:
    with pytest.raises(NoDevice, match=r"(?s)No device fits 'gpu'.*\[0\] vkgroup reference"):
        select("gpu")


@pytest.mark.parametrize("size", SIZES)
def test_the_reference_device_has_every_subgroup_size(no_loader: None, size: int) -> None:
    info = select(f"reference:{size}")
    assert info.subgroup_size == size
    assert info.choice == f"reference:{size}"
    again = pickle.loads(pickle.dumps(info))
    for choice in (info, again, info.choice, f"Reference:{size}"):
        with open_device(choice) as device:
            assert device.info == info
            assert device.capabilities.subgroup.size == size
            assert device.capabilities.minimum_promises() == []


def test_the_size_may_be_an_argument() -> None:
    for choice in ("reference", "reference:64", select("reference:64"), select("reference:8")):
        with open_device(choice, subgroup_size=64) as device:
            assert device.info == select("reference:64")


def test_the_environment_may_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", "reference:16")
    assert select().subgroup_size == 16
    with vkgroup.open() as device:
        assert device.capabilities.subgroup.size == 16


@pytest.mark.parametrize("choice", ["reference:", "reference:many", "reference:-4", "reference:1.5"])
def test_a_size_that_is_no_number_is_refused(choice: str) -> None:
    with pytest.raises(InvalidInput, match="reference:64"):
        select(choice)


@pytest.mark.parametrize("size", [0, 3, 256])
def test_a_size_that_no_device_has_is_refused(size: int) -> None:
    with lacks(f"subgroup size of {size} (powers of two from 1 to 128)"):
        open_device(f"reference:{size}")


def test_two_sizes_contradict() -> None:
    with pytest.raises(InvalidInput, match="contradict"):
        open_device("reference:8", subgroup_size=16)


def test_a_vulkan_device_requires_the_size_or_says_what_it_has(
    swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    source = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint size[]; } sizes;
void main() { sizes.size[gl_LocalInvocationIndex] = gl_SubgroupSize; }"""
    import numpy as np

    with open_device(lavapipe.name, subgroup_size=8) as device:
        assert isinstance(device, VulkanDevice)
        assert device.pipeline(device.compile(source)).subgroup_size == 8
        assert (device.run(source, 1, {0: np.zeros(8, np.uint32)})[0] == 8).all()
    with pytest.raises(Unsupported, match=r"has subgroups of 4 and cannot be made to use 64.*reference:64"):
        open_device(swiftshader.name, subgroup_size=64)


def test_part_of_the_name_chooses_it(swiftshader: CachedDriver) -> None:
    assert select("vkgroup ref").is_reference
    assert select(len(devices().devices) - 1).is_reference


def test_the_set_up_goes_on_to_fetch_a_driver_unless_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vkgroup.bootstrap.__main__ import _OPEN_A_DEVICE

    def opens() -> bool:
        return subprocess.run([sys.executable, "-c", _OPEN_A_DEVICE], timeout=60).returncode == 0

    monkeypatch.setenv("VKGROUP_LOADER", "/nowhere/libvulkan.so.1")
    assert not opens()
    monkeypatch.setenv("VKGROUP_DEVICE", "reference")
    assert opens()

"""Finding the Vulkan loader, and doing without it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.device import manifests
from vkgroup.device.manifests import LoaderCandidate, candidates, find_loader
from vkgroup.drivers import CachedDriver, installed
from vkgroup.errors import NoDevice

CHILD = "import vkgroup, sys\n"


def child(code: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> subprocess.CompletedProcess[str]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return subprocess.run([sys.executable, "-c", CHILD + code], capture_output=True, text=True, timeout=60)


def test_the_environment_alone_names_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKGROUP_LOADER", "/somewhere/libvulkan.so.1")
    assert candidates() == [LoaderCandidate("/somewhere/libvulkan.so.1", "VKGROUP_LOADER")]


@pytest.mark.parametrize(
    ("platform", "name"),
    [("linux", "libvulkan.so.1"), ("darwin", "libvulkan.1.dylib"), ("win32", "vulkan-1.dll")],
)
def test_the_system_loader_goes_by_its_platform_name(
    monkeypatch: pytest.MonkeyPatch, platform: str, name: str
) -> None:
    monkeypatch.delenv("VKGROUP_LOADER", raising=False)
    monkeypatch.setattr(manifests.sys, "platform", platform)
    assert candidates()[0].name == name


def test_the_loaders_of_fetched_drivers_come_last(
    monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver
) -> None:
    monkeypatch.delenv("VKGROUP_LOADER", raising=False)
    # Those with their own C library are for processes of their own.
    fetched = [str(driver.loader) for driver in installed() if driver.start is None]
    assert str(swiftshader.loader) in fetched
    assert [candidate.name for candidate in candidates()][-len(fetched) :] == fetched


def test_without_any_loader_the_message_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "candidates", lambda: [LoaderCandidate("libnone.so", "a test")])
    with pytest.raises(NoDevice) as caught:
        find_loader()
    message = str(caught.value)
    assert "libnone.so (from a test)" in message
    assert "vkgroup drivers fetch swiftshader" in message


def test_importing_vkgroup_needs_no_loader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = """
import vkgroup.device, vkgroup.dispatch
print(vkgroup.Module.__name__, vkgroup.errors.NoDevice.__name__)
"""
    done = child(code, monkeypatch, VKGROUP_LOADER="/nowhere/libvulkan.so.1", VKGROUP_CACHE=str(tmp_path))
    assert (done.returncode, done.stdout.split()) == (0, ["Module", "NoDevice"])


@pytest.mark.parametrize("call", ["vkgroup.open('gpu')", "vkgroup.open('swiftshader')", "discover()"])
def test_opening_a_vulkan_device_without_a_loader_is_no_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str
) -> None:
    code = f"""
from vkgroup.device import discover
try:
    {call}
except vkgroup.errors.NoDevice as error:
    print(error)
"""
    done = child(code, monkeypatch, VKGROUP_LOADER="/nowhere/libvulkan.so.1", VKGROUP_CACHE=str(tmp_path))
    assert done.stderr == ""
    assert "/nowhere/libvulkan.so.1 (from VKGROUP_LOADER)" in done.stdout
    assert "vkgroup drivers fetch swiftshader" in done.stdout


def test_validation_without_its_layer_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    code = f"""
try:
    vkgroup.open({str(swiftshader.icd)!r}, validation=True)
except vkgroup.errors.Unsupported as error:
    print(error.missing, error)
"""
    done = child(
        code,
        monkeypatch,
        VKGROUP_LOADER=str(swiftshader.loader),
        VKGROUP_CACHE=str(tmp_path),
        VK_LAYER_PATH=str(tmp_path),
    )
    assert done.stderr == ""
    assert "('VK_LAYER_KHRONOS_validation',)" in done.stdout
    assert "vulkan-validationlayers" in done.stdout


def test_a_library_that_is_loaded_is_not_loaded_again_from_another_folder(tmp_path: Path) -> None:
    """Two copies of LLVM in a process abort it, and two fetched drivers may each have one."""
    ctypes.CDLL("libm.so.6")
    mapped = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    loaded = Path(next(name for name in mapped if name.endswith("/libm.so.6")))
    copy = Path(shutil.copy(loaded, tmp_path))
    unknown = Path(shutil.copy(loaded, tmp_path / "libvkgroup_test_unknown.so.6"))
    manifests._load(copy, "a driver")
    assert str(copy) not in Path("/proc/self/maps").read_text()
    manifests._load(unknown, "a driver")
    assert str(unknown) in Path("/proc/self/maps").read_text()

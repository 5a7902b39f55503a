"""Discovery: each way a driver fails has its message, and the others are still listed; choosing."""

from __future__ import annotations

import ctypes.util
import json
import os
import pickle
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vkgroup.base import processes
from vkgroup.base.errors import NoDevice
from vkgroup.device import Discovery, IcdReport, discover, discovery, select
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers import CachedDriver


def manifest_of(folder: Path, name: str, library: str, **more: str) -> Path:
    path = folder / f"{name}.json"
    icd = {"library_path": library, **more}
    path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
    return path


@pytest.fixture
def broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> Path:
    """Drivers that fail in every way, before the ones that work."""
    library = read_manifest(swiftshader.icd).library
    (tmp_path / "json.json").write_text("{ this is no JSON")
    files = [
        tmp_path / "absent.json",
        tmp_path / "json.json",
        manifest_of(tmp_path, "library", "/nowhere/libdriver.so", api_version="1.3.0"),
        manifest_of(tmp_path, "other", ctypes.util.find_library("m") or "", api_version="1.3.0"),
        # A manifest without api_version is one that the Vulkan loader refuses.
        manifest_of(tmp_path, "instance", library),
    ]
    monkeypatch.setenv("VK_DRIVER_FILES", os.pathsep.join(map(str, files)))
    return tmp_path


def test_each_failure_has_its_message_and_the_others_are_listed(broken: Path) -> None:
    found = {report.name: report for report in discover().icds}
    assert found["absent"].status == "manifest"
    assert "cannot be read: No such file" in found["absent"].message
    assert found["json"].status == "manifest"
    assert "no valid JSON" in found["json"].message
    assert found["library"].status == "library"
    assert (
        "/nowhere/libdriver.so does not load: /nowhere/libdriver.so: cannot open" in found["library"].message
    )
    assert found["other"].status == "not_a_driver"
    assert "is no Vulkan driver" in found["other"].message
    assert found["instance"].status == "instance"
    assert "VK_ERROR_INCOMPATIBLE_DRIVER" in found["instance"].message
    working = [report for report in found.values() if report.status == "ok"]
    assert {"swiftshader", "lavapipe"} <= {report.name.split("-")[0] for report in working}
    assert all(report.devices and not report.message for report in working)


def test_a_broken_driver_chosen_by_its_file_says_why(broken: Path) -> None:
    with pytest.raises(NoDevice, match="does not load") as caught:
        select(str(broken / "library.json"))
    assert "vkgroup drivers fetch" in str(caught.value)


def fake_interpreter(folder: Path, script: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_crashing_driver_costs_only_itself(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""case "$*" in *instance*) echo about to crash >&2; kill -SEGV $$;; esac
exec {sys.executable} "$@" """
    monkeypatch.setattr(processes.sys, "executable", fake_interpreter(broken, script))
    found = discover()
    report = next(report for report in found.icds if report.name == "instance")
    assert report.status == "crash"
    assert "signal 11 (SIGSEGV)" in report.message
    assert "about to crash" in report.message
    assert found.devices


def test_files_of_the_users_folder_are_not_imported(
    swiftshader: CachedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "random", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not meant')")
    monkeypatch.chdir(tmp_path)
    assert select(str(swiftshader.icd)).icd


def test_a_hanging_driver_is_given_up(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.sys, "executable", fake_interpreter(broken, "exec sleep 60"))
    monkeypatch.setattr(discovery, "find_manifests", lambda: [read_manifest(broken / "instance.json")])
    report = discover(timeout=0.2).icds[0]
    assert report.status == "timeout"
    assert "0.2 s" in report.message


def test_a_driver_that_leaves_without_a_word_is_a_crash(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes.sys, "executable", fake_interpreter(broken, "exit 3"))
    monkeypatch.setattr(discovery, "find_manifests", lambda: [read_manifest(broken / "instance.json")])
    report = discover().icds[0]
    assert (report.status, report.message) == ("crash", "the driver ended the process with exit code 3")


# --- choosing -----------------------------------------------------------------------------------------


def info(name: str, type_: str, driver: str, icd: str) -> DeviceInfo:
    return DeviceInfo(f"/icd/{icd}.json", icd, 0, name, type_, driver, "", (1, 3, 0), "00", 32)


SWIFT = info("SwiftShader Device", "cpu", "SwiftShader driver", "vk_swiftshader_icd")
LAVA = info("llvmpipe (LLVM 15)", "cpu", "llvmpipe", "lvp_icd.x86_64")
INTEGRATED = info("Little Graphics", "integrated_gpu", "radv", "radeon_icd")
DISCRETE = info("Big Graphics", "discrete_gpu", "NVIDIA", "nvidia_icd")


def choose(devices: list[DeviceInfo], choice: str | int | None) -> DeviceInfo:
    reports = tuple(IcdReport(d.manifest, d.icd, "x.so", "ok", "", (d,)) for d in devices)
    return discovery.choose(Discovery("loader", reports), choice)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([SWIFT, LAVA, INTEGRATED, DISCRETE], DISCRETE),
        ([SWIFT, LAVA, INTEGRATED], INTEGRATED),
        ([SWIFT, LAVA], LAVA),
        ([SWIFT], SWIFT),
    ],
)
def test_the_default_is_a_gpu_else_lavapipe_else_swiftshader(
    devices: list[DeviceInfo], expected: DeviceInfo
) -> None:
    assert choose(devices, None) == expected


def test_a_fetched_software_driver_is_preferred_to_the_system_s() -> None:
    fetched = info("llvmpipe (LLVM 19)", "cpu", "llvmpipe", "lavapipe-25.0.7")
    reports = tuple(
        IcdReport(device.manifest, device.icd, "x.so", "ok", "", (device,), system=device is LAVA)
        for device in (SWIFT, LAVA, fetched)
    )
    found = Discovery("loader", reports)
    assert found.devices == (SWIFT, LAVA, fetched)
    assert found.default == fetched
    assert discovery.choose(found, "lavapipe") == fetched
    assert discovery.choose(found, "lvp_icd.x86_64") == discovery.choose(found, 1) == LAVA


def test_only_the_environment_goes_before_the_fetched_lavapipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lavapipe: CachedDriver
) -> None:
    folder = tmp_path / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    installed = manifest_of(folder, "lvp_icd.x86_64", "libvulkan_lvp.so", api_version="1.3.0")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    chosen = discovery.direct_manifest("lavapipe")
    assert chosen is not None
    assert chosen.path == lavapipe.icd
    monkeypatch.setenv("VK_DRIVER_FILES", str(installed))
    chosen = discovery.direct_manifest("lavapipe")
    assert chosen is not None
    assert chosen.path == installed


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (0, SWIFT),
        ("2", INTEGRATED),
        ("gpu", DISCRETE),
        ("lavapipe", LAVA),
        ("swiftshader", SWIFT),
        ("little", INTEGRATED),
        ("nvidia", DISCRETE),
        ("radeon_icd", INTEGRATED),
    ],
)
def test_a_choice_is_an_index_a_kind_or_part_of_a_name(choice: str | int, expected: DeviceInfo) -> None:
    assert choose([SWIFT, LAVA, INTEGRATED, DISCRETE], choice) == expected


@pytest.mark.parametrize("choice", [4, -1, "9", "gpu", "matrox", None])
def test_what_fits_nothing_lists_what_there_is(choice: str | int | None) -> None:
    devices = [] if choice is None else [SWIFT]
    with pytest.raises(NoDevice) as caught:
        choose(devices, choice)
    assert "vkgroup drivers fetch" in str(caught.value)
    assert ("SwiftShader Device" in str(caught.value)) == bool(devices)


def test_each_of_several_equal_devices_can_be_chosen() -> None:
    twins = [replace(DISCRETE, index=n, uuid=f"{n:032x}") for n in range(3)]
    assert [choose(twins, twin.choice) for twin in twins[1:]] == twins[1:]
    assert twins[0].choice == twins[0].manifest


def test_the_environment_names_the_default(
    monkeypatch: pytest.MonkeyPatch, swiftshader: CachedDriver
) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", "swiftshader")
    assert "SwiftShader" in select().name


def test_fetched_drivers_are_chosen_by_their_names(swiftshader: CachedDriver, lavapipe: CachedDriver) -> None:
    for driver in (swiftshader, lavapipe):
        assert select(driver.name).icd == driver.name


def test_a_device_info_travels_between_processes(swiftshader: CachedDriver) -> None:
    found = select("swiftshader")
    assert pickle.loads(pickle.dumps(found)) == found
    assert DeviceInfo.from_json(json.loads(json.dumps(vars(found)))) == found


def with_version(device: DeviceInfo, version: str) -> DeviceInfo:
    return replace(
        device, driver_info=f"Mesa {version} (LLVM 15)", manifest=f"/icd/{version}.json", icd=f"lvp_{version}"
    )


@pytest.mark.parametrize("newer_is_system", [True, False])
@pytest.mark.parametrize("base", [LAVA, replace(INTEGRATED, type="cpu"), INTEGRATED])
def test_the_newest_of_several_versions_of_a_driver_is_the_default(
    base: DeviceInfo, newer_is_system: bool
) -> None:
    old, new = with_version(base, "22.3.6"), with_version(base, "25.0.7")
    if base.type == "cpu":
        old, new = (replace(device, driver_name="llvmpipe") for device in (old, new))
    for order in ((old, new), (new, old)):
        reports = tuple(
            IcdReport(d.manifest, d.icd, "x.so", "ok", "", (d,), system=(d is new) == newer_is_system)
            for d in order
        )
        found = Discovery("loader", reports)
        assert found.devices == order
        assert found.default == new
        named = tuple(replace(report, named=report.devices == (old,)) for report in reports)
        assert Discovery("loader", named).default == old


def test_versions_are_compared_by_number() -> None:
    versions = ("9.1", "10.0.2", "10.0.10", "10.0.9")
    assert (
        choose([with_version(LAVA, version) for version in versions], "lavapipe").driver_version == "10.0.10"
    )


@pytest.mark.parametrize(
    ("driver_info", "icd", "version"),
    [
        ("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", "lavapipe-25.0.6", "25.0.7"),
        ("", "swiftshader-156.0.8078.79", "156.0.8078.79"),
        ("580.159.04", "nvidia_icd", "580.159.04"),
        ("", "vk_swiftshader_icd", ""),
    ],
)
def test_the_version_is_in_the_driver_s_text_or_in_its_name(driver_info: str, icd: str, version: str) -> None:
    assert replace(SWIFT, driver_info=driver_info, icd=icd).driver_version == version


@pytest.mark.parametrize(
    ("api_version", "chosen"), [("1.1.1", "fetched"), ("1.9.1", "system"), ("", "fetched")]
)
def test_the_word_lavapipe_names_the_newest_driver_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lavapipe: CachedDriver, api_version: str, chosen: str
) -> None:
    folder = tmp_path / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    system = manifest_of(folder, "lvp_icd.x86_64", "libvulkan_lvp.so", api_version=api_version)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    manifest = discovery.direct_manifest("lavapipe")
    assert manifest is not None
    assert manifest.path == (system if chosen == "system" else lavapipe.icd)


def test_files_with_one_version_of_vulkan_do_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lavapipe: CachedDriver
) -> None:
    folder = tmp_path / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    same = json.loads(lavapipe.icd.read_text())["ICD"]["api_version"]
    manifest_of(folder, "lvp_icd.x86_64", "libvulkan_lvp.so", api_version=same)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    assert discovery.direct_manifest("lavapipe") is None

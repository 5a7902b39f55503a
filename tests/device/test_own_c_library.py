"""A driver with its own C library that executes, lavapipe of Debian 13; fetching it takes long."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import software_drivers

import vkgroup
from vkgroup import drivers
from vkgroup.base.errors import NoDevice
from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select

pytestmark = pytest.mark.slow

_SHADER = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] = 3u * gl_GlobalInvocationID.x; }
"""

NAME = "lavapipe-26.1.6"


@pytest.fixture(scope="module")
def newer() -> CachedDriver:
    return software_drivers.fetch_compile_only(NAME)


def command(*words: str) -> str:
    """Return the standard output of a command."""
    program = [sys.executable, "-m", "vkgroup", *words]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout


def test_it_executes_in_workers(newer: CachedDriver, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--device", NAME, "--filter", "vote.compute.subgroupAll.*", "--jobs", "1"]
    assert main(["conform", *arguments, "--out", str(out)]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["totals"]["Pass"] > 10
    assert "Mesa 26.1.6" in summary["driver"]["info"]


def test_it_executes_in_a_command_s_own_process(newer: CachedDriver, tmp_path: Path) -> None:
    shader = tmp_path / "shader.comp"
    shader.write_text(_SHADER)
    text = command("run", str(shader), "--groups", "1", "--out", "Data=uint[64]", "--device", NAME)
    assert "183, 186, 189]" in text
    assert "llvmpipe" in command("probe", "--device", NAME)


def test_this_process_does_not_load_it(newer: CachedDriver) -> None:
    device = select(NAME)
    assert device.can_execute
    assert device.choice == NAME
    with pytest.raises(NoDevice, match="has its own C library"):
        vkgroup.open(NAME)
    assert NAME not in [found.icd for found in vkgroup.devices().devices]


def test_an_isolated_device_executes_in_python(newer: CachedDriver) -> None:
    with vkgroup.open(NAME, isolated=True) as device:
        assert "Mesa 26.1.6" in device.capabilities.driver_info
        result = device.run(_SHADER, 2, {"Data": np.zeros(128, np.uint32)})
    assert (result["Data"] == 3 * np.arange(128)).all()


def test_a_bundle_has_the_whole_driver(
    turnip: CachedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The session's cache has a link to the folder.
    drivers.pack(replace(turnip, folder=turnip.folder.resolve()), tmp_path)
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    unpacked = drivers.unpack("turnip", tmp_path)
    assert unpacked.is_compile_only
    assert unpacked.folder.parent == tmp_path / "cache" / "drivers"
    assert select("turnip:740").name == "Turnip Adreno (TM) 740"


def test_a_driver_is_fetched_into_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "cache"))
    driver = drivers.fetch("nvk")
    assert driver.is_compile_only
    assert driver.package.startswith("mesa-vulkan-drivers ")
    assert any(name.startswith("mesa-drm-shim ") for name in driver.runtime)
    assert not any("llvm" in path.name.lower() for path in driver.folder.rglob("*"))
    assert driver.size < 40e6
    assert (driver.folder / "lib" / "amdgpu.ids").is_file()
    assert select("nvk:ga104").name == "NVK GA104"
    assert drivers.fetch("nvk") == driver


def test_the_list_of_devices_names_it(newer: CachedDriver, tmp_path: Path) -> None:
    file = tmp_path / "devices.json"
    assert main(["devices", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["own_c_library"] == [NAME]


def test_a_panic_of_a_driver_is_reported_without_its_backtrace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    software_drivers.fetch_compile_only("nvk-26.1.6")
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    file = tmp_path / "cost.json"
    shader = Path(__file__).parents[2] / "shaders" / "findings" / "add_int64.comp"
    assert main(["cost", str(shader), "--device", "nvk-26.1.6:gk104", "--json", str(file)]) == 1
    (cost,) = json.loads(file.read_text())[0]["costs"]
    assert cost["status"] == "Rejected"
    assert "Failed to find free register" in cost["detail"]
    assert "__libc_start_main" not in cost["detail"]

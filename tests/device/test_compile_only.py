"""Compile-only devices: detection, choice and refusal, with a real driver and with devices of the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpu_process import run_code

import vkgroup
from vkgroup import drivers
from vkgroup.cost import costs_of_jobs, job_of
from vkgroup.device import vk
from vkgroup.device.discovery import Discovery, IcdReport, choose, discover, inspect_in_own_process
from vkgroup.device.fetched import driver_of, expand
from vkgroup.device.launch import launch
from vkgroup.dispatch.vulkan import execution
from vkgroup.drivers import CachedDriver
from vkgroup.drivers.cache import FORMAT_WITH_START, read_metadata
from vkgroup.drivers.gpus import GPUS, compile_only_hint, gpu_of_product
from vkgroup.errors import InvalidInput, NoDevice
from vkgroup.workers.multi_device import choose as choose_several
from vkgroup.workers.multi_device import targets
from vkgroup.workers.opening import select

_OPEN = """
import sys, vkgroup
try:
    with vkgroup.open(sys.argv[1]) as device:
        device.run(sys.argv[2], 1, {})
        print("executed", device.capabilities.name)
except vkgroup.errors.NoDevice as error:
    print("NoDevice", error)
"""


_NAMES = "AMDGPU_ASIC_ID_TABLE_PATH"
"""The variable with the file of the names of AMD's products."""

_SHADER = """#version 450
void main() {}
"""


class _Dropping:
    """Functions of a device with a dispatch that does nothing."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._functions, name)

    def vkCmdDispatch(self, *arguments: Any) -> None:  # noqa: N802 - Vulkan's name
        """Record nothing."""


@pytest.fixture
def nothing_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which devices of this process have executed a dispatch."""
    monkeypatch.setattr(execution, "_executing", set())


def _use(name: str) -> None:
    """Open a device and make its first pipeline."""
    with vkgroup.open(name) as device:
        device.run(_SHADER, 1, {})


@pytest.mark.usefixtures("nothing_tried")
def test_a_device_that_drops_dispatches_is_refused(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    create: Callable[..., Any] = vk.device_functions
    with monkeypatch.context() as patch:
        patch.setattr(vk, "device_functions", lambda *a: _Dropping(create(*a)))
        with pytest.raises(NoDevice, match=r"SwiftShader.*executes nothing.*fill pattern"):
            _use(swiftshader.name)
    with vkgroup.open(swiftshader.name) as device:
        assert execution.executes(device.logical)


@pytest.mark.usefixtures("nothing_tried")
def test_a_device_is_tried_once(swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    executes = execution.executes
    monkeypatch.setattr(
        execution, "executes", lambda device: tried.append(device.capabilities.name) or executes(device)
    )
    for _ in range(3):
        _use(swiftshader.name)
    assert len(tried) == 1


def test_a_driver_without_its_gpu_is_refused_under_any_name(turnip: CachedDriver) -> None:
    done = run_code("turnip:740", _OPEN, str(turnip.icd), _SHADER)
    assert done.stdout.startswith("NoDevice Turnip Adreno (TM) 740")
    assert "executes nothing" in done.stdout
    assert "fill pattern" in done.stdout


def test_a_compile_only_device_is_not_opened_in_this_process(turnip: CachedDriver) -> None:
    with pytest.raises(NoDevice, match=r"turnip-.*:740 is compile-only"):
        vkgroup.open("turnip:740")


def test_compile_only_devices_are_not_discovered(turnip: CachedDriver) -> None:
    found = discover()
    assert not any(device.is_compile_only for device in found.devices)
    assert not any(turnip.name in icd.manifest for icd in found.icds)


def test_a_device_without_memory_is_never_the_default(swiftshader: CachedDriver) -> None:
    real = select(swiftshader.name)
    # As RADV 25.0.7 reports with RADV_FORCE_FAMILY=navi31.
    null = replace(
        real, manifest="/null.json", name="Null hardware (RADV NAVI31)", type="discrete_gpu", has_memory=False
    )
    found = Discovery("", tuple(IcdReport(d.manifest, d.icd, "", "ok", "", (d,)) for d in (null, real)))
    assert choose(found, None) == real
    assert not null.is_gpu
    with pytest.raises(NoDevice):
        choose(found, "gpu")
    assert choose(found, "null hardware") == null


def test_the_declarations_are_those_of_the_gpu(turnip: CachedDriver) -> None:
    device, declared = inspect_in_own_process("turnip:740")
    assert (device.gpu, device.icd, device.choice) == ("740", turnip.name, f"{turnip.name}:740")
    assert device.is_compile_only
    assert not device.can_execute
    assert declared.name == "Turnip Adreno (TM) 740"
    assert (declared.size_control.min_size, declared.size_control.max_size) == (64, 128)
    _, older = inspect_in_own_process("turnip:618")
    assert "quad" in declared.subgroup.supported_operations
    assert "quad" not in older.subgroup.supported_operations


def test_the_gpus_that_a_driver_compiles_for_are_listed_in_errors(turnip: CachedDriver) -> None:
    with pytest.raises(NoDevice, match="618, 630"):
        select("turnip:999")


def test_a_driver_that_was_not_fetched_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path))
    with pytest.raises(NoDevice, match="vkgroup drivers fetch honeykrisp"):
        select("honeykrisp:m1")
    with pytest.raises(NoDevice, match="vkgroup drivers fetch nvk"):
        expand("nvk-25.0.7:*")
    with pytest.raises(NoDevice, match="vkgroup drivers fetch radv"):
        expand("*:navi31")


def test_globs_choose_gpus_in_the_order_of_the_table(turnip: CachedDriver) -> None:
    assert expand("turnip:7[34]0") == [f"{turnip.name}:730", f"{turnip.name}:740"]
    assert select(f"{turnip.name}:740".upper()) == select("turnip:740")
    assert expand("turn*:8*") == [f"{turnip.name}:810", f"{turnip.name}:830"]
    assert expand("swift*") == ["swift*"]
    assert expand("turnip") == ["turnip"]
    chosen = choose_several("turnip:73*, turnip:618")
    assert [device.gpu for device in chosen] == ["730", "618"]


@pytest.mark.parametrize("choice", ["turnip:7*", "turnip-*:740", "turnip:730,turnip:740"])
def test_one_gpu_is_needed_where_one_is_opened(turnip: CachedDriver, choice: str) -> None:
    with pytest.raises(NoDevice, match="one is needed here"):
        select(choice)
    assert choose_several(choice)


def test_globs_with_a_version_choose_that_version(turnip: CachedDriver) -> None:
    assert expand(f"{turnip.name}:7[34]0") == [f"{turnip.name}:730", f"{turnip.name}:740"]
    assert f"{turnip.name}:740" in expand("turnip-*:740")
    with pytest.raises(NoDevice, match=rf"'turnip-1\.2\.3:\*'\. In the cache are .*{turnip.name}"):
        expand("turnip-1.2.3:*")
    for name in (turnip.name, "turnip-*", "*"):
        with pytest.raises(NoDevice, match=rf"All their GPUs are '{re.escape(name)}:\*'"):
            expand(name)


@pytest.fixture
def build(turnip: CachedDriver, tmp_path: Path) -> Path:
    """Return the manifest of another build of Turnip, whose library is the fetched one."""
    file = tmp_path / "My Build.json"
    library = turnip.folder / "lib" / "libvulkan_freedreno.so"
    manifest = json.loads(turnip.icd.read_text())
    manifest["ICD"]["library_path"] = str(library)
    file.write_text(json.dumps(manifest))
    return file


def test_another_build_of_a_driver_is_loaded(
    turnip: CachedDriver, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build.parent)
    devices = choose_several(f"Turnip:7[34]0@{build.name}")
    assert [device.choice for device in devices] == [f"{turnip.name}:{gpu}@{build}" for gpu in ("730", "740")]
    assert {device.manifest for device in devices} == {str(build)}
    assert select(devices[1].choice) == devices[1]
    both = targets([devices[1], select("turnip:740")])
    assert [target.name for target in both] == [devices[1].choice, f"{turnip.name}:740"]
    job = job_of(vkgroup.compile(_SHADER, stage="compute"))
    ((ours, *_),) = costs_of_jobs(devices[1], [job])
    ((fetched, *_),) = costs_of_jobs(select("turnip:740"), [job])
    assert (ours.quantities, ours.key) == (fetched.quantities, fetched.key)
    assert (ours.label, fetched.label) == (f"turnip:740@{build}", "turnip:740")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file"),
        ("#version 450", "no valid JSON"),
        ('{"ICD": {}}', "names no library"),
        ('{"ICD": {"library_path": "./absent.so"}}', "absent.so does not load"),
        ("swiftshader", "is of SwiftShader driver, not of turnip"),
    ],
)
def test_a_file_that_is_no_build_of_the_driver(
    build: Path, swiftshader: CachedDriver, text: str | None, message: str
) -> None:
    if text is None:
        build.unlink()
    elif text == "swiftshader":
        build = swiftshader.icd
    else:
        build.write_text(text)
    with pytest.raises(NoDevice, match=message):
        select(f"turnip:740@{build}")


@pytest.mark.usefixtures("turnip")
def test_a_product_chooses_its_gpu() -> None:
    assert select("snapdragon 8 gen 2") == select("turnip:740")
    names = {
        name: gpu_of_product(name) for name in ("Radeon RX 7600", "rtx 3090", "GeForce RTX 3090", "RX", "")
    }
    choices = [gpu and gpu.choice for gpu in names.values()]
    assert choices == ["radv:navi33", "nvk:ga102", "nvk:ga102", None, None]
    gpu = gpu_of_product("gfx803")
    assert gpu is not None
    assert gpu.choice == "radv:polaris10"


@pytest.mark.parametrize("name", ["Snapdragon 8 Gen 2", "adreno 740"])
def test_a_product_takes_a_build_of_the_driver(build: Path, name: str) -> None:
    assert select(f"{name}@{build}") == select(f"turnip:740@{build}")


@pytest.mark.parametrize(
    ("choice", "near"),
    [
        ("Radeon RX 7900", "radv:navi31"),
        ("Radeon RX 6700 XT", "radv:navi21"),
        ("RTX 4090", "nvk:ga102"),
        ("Adreno 640", "turnip:630"),
        ("Radeon RX Vega", "radv:vega10"),
        ("Vega", "radv:raven"),
        ("radv", "'radv:*'"),
        ("nvk", "'nvk:*'"),
    ],
)
def test_a_name_of_an_absent_gpu_is_answered_with_near_ones(choice: str, near: str) -> None:
    with pytest.raises(NoDevice) as error:
        select(choice)
    assert near in str(error.value)
    assert "swiftshader" not in str(error.value)


def test_a_driver_that_was_fetched_is_not_offered() -> None:
    assert "drivers fetch radv" in compile_only_hint("Radeon RX Vega", ["turnip-26.1.6"])
    assert "drivers fetch" not in compile_only_hint("Radeon RX Vega", ["turnip-26.1.6", "radv-26.1.6"])


def test_names_of_llvm_choose_amd_s_gpus(turnip: CachedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = replace(turnip, name="radv-26.1.6", family="radv", version="26.1.6")
    monkeypatch.setattr(drivers, "installed", lambda: [driver])
    monkeypatch.setattr(drivers, "path", lambda name: driver)
    names = {"gfx1100": "navi31", "GFX1102": "navi33", "gfx803": "polaris10", "gfx1201": "gfx1201"}
    for llvm, name in names.items():
        gpu = driver_of(f"radv:{llvm}")[1]
        assert gpu is not None
        assert gpu.name == name
    assert expand("radv:gfx110?") == [f"radv-26.1.6:{name}" for name in ("navi31", "navi33", "phoenix")]
    with pytest.raises(NoDevice) as error:
        driver_of("radv:gfx1200")
    assert "Did you mean" not in str(error.value)


def test_no_driver_of_intel_can_be_fetched() -> None:
    with pytest.raises(InvalidInput, match="mesa-drm-shim has no library"):
        drivers.parse_name("intel")


@pytest.mark.parametrize(
    "choice",
    ["intel:dg2", "anv:*", "mali:g610", "panvk:g610", "intel", "Intel Arc A770", "Mali-G610", "panvk"],
)
def test_drivers_that_need_their_gpu_are_named(choice: str) -> None:
    with pytest.raises(NoDevice, match="mesa-drm-shim has no library"):
        choose_several(choice)


def test_an_old_driver_has_only_the_gpus_that_it_knows(
    turnip: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = replace(turnip, name="radv-25.0.7", family="radv", version="25.0.7")
    new = replace(old, name="radv-26.1.6", version="26.1.6")
    monkeypatch.setattr(drivers, "installed", lambda: [new, old])
    monkeypatch.setattr(drivers, "path", lambda name: {"radv-25.0.7": old}.get(name, new))
    assert expand("radv-25.0.7:navi3*") == ["radv-25.0.7:navi31"]
    assert expand("radv-*:navi3*") == ["radv-26.1.6:navi31", "radv-26.1.6:navi33", "radv-25.0.7:navi31"]
    with pytest.raises(NoDevice, match=r"There are radv-25\.0\.7:polaris10, [^3]*radv-25\.0\.7:navi31\.$"):
        expand("radv-25.0.7:navi33*")
    with pytest.raises(NoDevice, match=r"radv-25\.0\.7 does not know navi33, which needs radv 26 or newer"):
        driver_of("radv-25.0.7:navi33")
    assert driver_of("radv-26.1.6:navi33")[0] is new


@pytest.mark.parametrize("choice", ["turnip:740", "turnip-1.2.3:740"])
def test_a_version_in_a_choice_is_the_driver_s(turnip: CachedDriver, choice: str) -> None:
    if choice == "turnip:740":
        assert select(f"{turnip.name}:740") == select(choice)
    else:
        with pytest.raises(NoDevice, match=r"turnip-1\.2\.3"):
            select(choice)


def test_names_of_gpus_are_unique_and_choices_parse() -> None:
    assert len({gpu.choice for gpu in GPUS}) == len(GPUS)
    for gpu in GPUS:
        family, version = drivers.parse_name(gpu.family)
        assert (family.name, version) == (gpu.family, None)
        assert family.shim
        assert bool(gpu.value) == bool(family.variable)
    with pytest.raises(InvalidInput):
        drivers.parse_name("nosuch")


def test_versions_of_vkgroup_without_such_drivers_ignore_them(
    turnip: CachedDriver, swiftshader: CachedDriver
) -> None:
    # They would offer a driver that their processes cannot load.
    assert read_metadata(turnip.folder).format == FORMAT_WITH_START
    assert read_metadata(swiftshader.folder).format != FORMAT_WITH_START


def test_libdrm_finds_the_names_of_amd_s_products(
    turnip: CachedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(_NAMES, raising=False)
    assert turnip.start is not None
    driver = replace(turnip, start=replace(turnip.start, libraries=tmp_path))
    assert _NAMES not in launch(driver, GPUS[0], "module")[1]
    (tmp_path / "amdgpu.ids").write_text("")
    assert launch(driver, GPUS[0], "module")[1][_NAMES] == str(tmp_path / "amdgpu.ids")

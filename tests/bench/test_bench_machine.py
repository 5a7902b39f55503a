"""Description of device, driver and host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.base.files import bench
from vkgroup.bench.machine import (
    Cache,
    DeviceEviction,
    HostEviction,
    clocks,
    driver_version,
    eviction,
    last_level_cache,
)
from vkgroup.device import Capabilities

GPU = Capabilities("NVIDIA H200", "discrete_gpu", vendor_id=0x10DE, uuid="00112233445566778899aabbccddeeff")
SMI = """#!/bin/sh
echo "GPU-ffffffff-4455-6677-8899-aabbccddeeff, 1 MHz, 2 MHz, 3 MHz, 4 MHz, 5 W, 6"
echo "GPU-00112233-4455-6677-8899-aabbccddeeff, 1980 MHz, 3201 MHz, 1980 MHz, 3201 MHz, 700.00 W, 30"
"""


def test_nvidia_numbers_its_drivers_in_its_own_way() -> None:
    number = 580 << 22 | 159 << 14 | 4 << 6
    assert driver_version(replace(GPU, driver_version=number)) == "580.159.4"
    mesa = Capabilities("llvmpipe", "cpu", vendor_id=0x10005, driver_version=25 << 22 | 3 << 12 | 7)
    assert driver_version(mesa) == "25.3.7"


def test_clocks_are_those_of_the_device_that_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert clocks(GPU) == {
        "nvidia_clocks_sm": "1980 MHz",
        "nvidia_clocks_mem": "3201 MHz",
        "nvidia_clocks_max_sm": "1980 MHz",
        "nvidia_clocks_max_mem": "3201 MHz",
        "nvidia_power_limit": "700.00 W",
        "nvidia_temperature_gpu": "30",
    }
    program.write_text("#!/bin/sh\nexit 9\n")
    assert clocks(GPU) == {}


def test_without_the_program_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clocks(GPU) == {}


def test_the_cache_is_from_the_table_or_assumed_and_says_so() -> None:
    assert last_level_cache(GPU).nbytes == 60 << 20
    unknown = last_level_cache(replace(GPU, name="Imaginary 1"))
    assert unknown.nbytes >= 128 << 20
    assert "assumed" in unknown.source
    assert last_level_cache(Capabilities("llvmpipe", "cpu")).nbytes >= 1 << 20


@pytest.mark.parametrize("choice", ["swiftshader", "reference"])
def test_the_device_reads_past_its_cache(choice: str, swiftshader: object) -> None:
    with vkgroup.open(choice) as device:
        with DeviceEviction(device, Cache(1 << 10, "a small one")) as emptying:
            emptying.run()
        assert isinstance(eviction(device, Cache(1 << 10, "")), HostEviction)


def test_the_shader_that_empties_the_cache_reads_everything() -> None:
    # A memory whose words add up to the number that is written, but for one of them, at any place.
    with vkgroup.open("reference:4") as device:
        for place in (0, 1027, 2051):
            memory = np.zeros((2052, 4), np.uint32)
            memory[place, place % 4] = 0x9E3779B9
            found = device.run(
                bench("shaders") / "evict.comp", 3, {"Memory": memory, "Result": np.zeros(1, np.uint32)}
            )
            assert found["Result"][0] == memory[place, 0]
            memory[place] += 1
            found = device.run(
                bench("shaders") / "evict.comp", 3, {"Memory": memory, "Result": np.zeros(1, np.uint32)}
            )
            assert found["Result"][0] == 0

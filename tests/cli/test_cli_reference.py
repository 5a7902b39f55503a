"""The commands on the reference device, chosen by name and found where there is no Vulkan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main

SUMS = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Values { uint value[]; } values;
void main() { values.value[gl_LocalInvocationIndex] = subgroupAdd(1u); }"""


@pytest.fixture
def shader(tmp_path: Path) -> Path:
    path = tmp_path / "sums.comp"
    path.write_text(SUMS)
    return path


def without_vulkan(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that finds no loader."""
    environment = {**os.environ, "VKGROUP_LOADER": "/nowhere/libvulkan.so.1"}
    command = [sys.executable, "-m", "vkgroup", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("size", [1, 8, 64])
def test_run_takes_the_subgroup_size(shader: Path, tmp_path: Path, size: int) -> None:
    out = tmp_path / "sums.npy"
    words = ["run", str(shader), "--groups", "1", "--out", f"values=uint[64]:{out}"]
    assert main([*words, "--device", f"reference:{size}"]) == 0
    assert (np.load(out) == size).all()
    assert main([*words, "--device", "reference", "--subgroup-size", str(size)]) == 0
    assert (np.load(out) == size).all()


def test_run_without_vulkan_says_where_it_ran(shader: Path) -> None:
    done = without_vulkan("run", shader, "--groups", 1, "--out", "values=uint[64]")
    assert done.returncode == 0
    assert "Ran on vkgroup reference, subgroups of 32" in done.stderr
    assert "32, 32, 32" in done.stdout


def test_devices_without_vulkan_lists_it() -> None:
    done = without_vulkan("devices", "--json", "-")
    assert done.returncode == 0
    assert "No Vulkan loader could be loaded" in done.stderr
    data = json.loads(done.stdout)
    assert data["loader"] is None
    assert data["icds"] == []
    assert [device["icd"] for device in data["devices"]] == ["reference"]
    assert data["default"] == 0


def test_conform_and_probe_without_vulkan(tmp_path: Path) -> None:
    done = without_vulkan("conform", "--filter", "vote.*.int.all.*", "--jobs", 1, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Testing vkgroup reference, subgroups of 32" in done.stdout
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["subgroup_size"] == 32
    assert summary["totals"]["Fail"] == 0
    assert summary["totals"]["Pass"] > 0
    done = without_vulkan("probe", "--json", "-")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["device"]["driver_name"] == "vkgroup"
    assert {outcome["status"] for outcome in found["experiments"].values()} == {"observed"}


def test_the_environment_chooses_it(
    shader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", "reference:2")
    assert main(["run", str(shader), "--groups", "1", "--out", "values=uint[64]"]) == 0
    assert "subgroups of 2" in capsys.readouterr().err


def test_sizes_that_make_no_sense_are_bad_input_or_not_there(shader: Path) -> None:
    words = ["run", str(shader), "--groups", "1", "--out", "values=uint[64]", "--device"]
    assert main([*words, "reference:many"]) == 2
    assert main([*words, "reference:3"]) == 3


@pytest.mark.parametrize(("length", "warned"), [(40, True), (64, False)])
def test_run_warns_of_accesses_outside_of_an_array(
    shader: Path, length: int, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(shader), "--groups", "1", "--out", f"values=uint[{length}]", "--device", "reference"]
    assert main(words) == 0
    warning = "Warning: an access outside of values, which has 160 bytes (24 times)"
    assert (warning in capsys.readouterr().err) == warned

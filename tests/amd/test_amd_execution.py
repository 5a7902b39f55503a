"""AMD's absent GPUs execute what RADV compiled: runs, the suite, `check` and refusals, with the driver."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import NoDevice
from vkgroup.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("radv")]

#: One GPU of each generation of instructions.
GPUS = ["polaris10", "vega10", "navi10", "navi21", "navi31", "strix1", "gfx1201"]

SCAN = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic: require
#extension GL_KHR_shader_subgroup_shuffle: require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uvec2 b[]; };
layout(push_constant) uniform P { uint k; };
shared uint total;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (gl_LocalInvocationIndex == 0) total = 0;
    barrier();
    uint sum = subgroupInclusiveAdd(a[i] * k);
    atomicAdd(total, a[i]);
    barrier();
    b[i] = uvec2(sum, subgroupShuffleXor(total + a[i], 5));
}
"""


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("size", [32, 64])
def test_a_scan_with_shared_memory_has_its_results(gpu: str, size: int) -> None:
    is_gcn = gpu in ("polaris10", "vega10")
    if size == 32 and is_gcn:
        return  # GCN has waves of 64 only
    values = np.random.default_rng(1).integers(0, 1 << 20, 512, dtype=np.uint32)
    with vkgroup.open(f"radv:{gpu}", isolated=True, subgroup_size=None if is_gcn else size) as device:
        module = device.compile(SCAN, stage="compute")
        result = device.run(module, 4, {"A": values, "B": np.zeros((512, 2), np.uint32)}, push={"k": 7})
    sums = np.cumsum((values * np.uint32(7)).reshape(-1, size), axis=1, dtype=np.uint32).ravel()
    totals = np.repeat(values.reshape(4, 128).sum(axis=1, dtype=np.uint32), 128)
    found = result["B"].reshape(512, 2)
    assert (found[:, 0] == sums).all()
    assert (found[:, 1] == totals + values[np.arange(512) ^ 5]).all()


@pytest.mark.parametrize("gpu", GPUS)
def test_cases_of_the_suite_pass(gpu: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "conform",
        "--device",
        f"radv:{gpu}",
        "--shard",
        "1/30",
        "--no-repro",
        "--out",
        str(tmp_path / "run"),
    ]
    for name in ("vote", "basic.compute", "quad.compute.*.uvec2", "memory_model.compute.*image*"):
        words += ["--filter", f"{name}.*" if "*" not in name else name + "*"]
    assert main(words) == 0
    totals = json.loads((tmp_path / "run" / "summary.json").read_text())["totals"]
    assert totals["Pass"] > 20
    assert not totals["Fail"]
    assert "by emulation" in capsys.readouterr().out


def test_only_the_compiler_is_asked_for(tmp_path: Path) -> None:
    words = ["conform", "--device", "radv:navi31", "--filter", "vote.compute.*.uint.*", "--compile-only"]
    assert main([*words, "--no-repro", "--out", str(tmp_path / "run")]) == 0
    totals = json.loads((tmp_path / "run" / "summary.json").read_text())["totals"]
    assert totals["Compiled"]
    assert not totals.get("Pass")


def test_a_race_is_found_on_an_emulated_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader = tmp_path / "race.comp"
    shader.write_text(SCAN.replace("    barrier();\n    b[i]", "    b[i]"))
    assert main(["check", str(shader), "--device", "radv:navi31", "--groups", "4", "--push", "k=7"]) == 1
    assert "race" in capsys.readouterr().out


def test_it_is_emulated_in_a_process_of_its_own() -> None:
    with pytest.raises(NoDevice) as raised:
        vkgroup.open("radv:navi31")
    assert "isolated=True" in str(raised.value)

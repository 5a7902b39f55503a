"""AMD's absent GPUs execute what RADV compiled: runs, the suite, `check` and refusals, with the driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from amber import scripts

import vkgroup
from vkgroup.base.errors import NoDevice, VkgroupError
from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

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


#: GPUs whose waves have 64 lanes only.
GCN = ("polaris10", "vega10")


@pytest.mark.parametrize(("gpu", "size"), [(g, s) for g in GPUS for s in (32, 64) if s == 64 or g not in GCN])
def test_a_scan_with_shared_memory_has_its_results(gpu: str, size: int) -> None:
    is_gcn = gpu in GCN
    values = np.random.default_rng(1).integers(0, 1 << 20, 512, dtype=np.uint32)
    with vkgroup.open(f"radv:{gpu}", isolated=True, subgroup_size=None if is_gcn else size) as device:
        module = device.compile(SCAN, stage="compute")
        result = device.run(module, 4, {"A": values, "B": np.zeros((512, 2), np.uint32)}, push={"k": 7})
    sums = np.cumsum((values * np.uint32(7)).reshape(-1, size), axis=1, dtype=np.uint32).ravel()
    totals = np.repeat(values.reshape(4, 128).sum(axis=1, dtype=np.uint32), 128)
    found = result["B"].reshape(512, 2)
    assert (found[:, 0] == sums).all()
    assert (found[:, 1] == totals + values[np.arange(512) ^ 5]).all()


IMAGES = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) uniform sampler2DArray Layers;
layout(binding = 1, rgba32f) uniform image2DArray Changed;
layout(binding = 2, rgba32ui) uniform uimage2D Stored;
layout(std430, binding = 3) writeonly buffer Found { vec4 found[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    ivec3 at = ivec3(i % 8, i / 8, i % 4);
    vec3 middle = vec3((at.xy + 0.5) / 8.0, at.z);
    found[3 * i] = textureLod(Layers, middle, 0.0) + imageLoad(Changed, at);
    found[3 * i + 1] = texelFetch(Layers, at, 0);
    found[3 * i + 2] = textureGather(Layers, middle, 1);
    imageStore(Changed, ivec3(at.xy, 3 - at.z), vec4(i));
    imageStore(Stored, at.xy, i % 2 == 0 ? uvec4(i) : uvec4(i, 7, i, 0));
}
"""

ARRAY = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, sum = data[i];
    TYPE held[100];
    for (uint k = 0; k < 100; k++) held[k] = TYPE(sum * k);
    for (uint k = 0; k < 100; k++) {
        sum = sum * 3 + uint(held[(k * 7 + i) % 100]);
        held[(k + sum) % 100] ^= TYPE(sum);
    }
    data[i] = sum;
}
"""


@pytest.mark.parametrize("gpu", GPUS)
def test_images_and_scratch_memory_have_the_contents_of_the_reference(gpu: str) -> None:
    random = np.random.default_rng(2)
    layers = random.random((4, 8, 8, 4), np.float32)
    images = {
        "Layers": layers, "Changed": layers[::-1].copy(), "Stored": np.zeros((8, 8, 4), np.uint32),
        "Found": np.zeros((192, 4), np.float32),
    }  # fmt: skip
    data = {"Data": random.integers(0, 1 << 32, 64 * 9, dtype=np.uint32)}
    programs = [(IMAGES, 1, images)]
    programs += [(ARRAY.replace("TYPE", name), 9, data) for name in ("uint", "uint64_t")]
    with (
        vkgroup.open(f"radv:{gpu}", isolated=True) as device,
        vkgroup.open("reference", subgroup_size=64) as reference,
    ):
        for source, groups, given in programs:
            found, expected = (
                its.run(its.compile(source, stage="compute"), groups, given) for its in (device, reference)
            )
            for name in given.keys() - {"Layers"}:
                assert (found[name] == expected[name]).all(), name


@pytest.mark.parametrize(
    ("shader", "gpu", "given", "word", "right"),
    [
        ("three_bytes", "vega10", {"Inputs": [0], "Outputs": [0] * 11}, 6, 0x1A1104),
        ("clustered_of_zero", "polaris10", {"Result": [0]}, 0, 0),
    ],
)
def test_an_error_of_mesa_is_seen(
    shader: str, gpu: str, given: dict[str, list[int]], word: int, right: int
) -> None:
    bindings = {name: np.array(values, np.uint32) for name, values in given.items()}
    output = [*given][-1]
    found = []
    for name in (f"radv-26.1.6:{gpu}", "reference:64"):
        with vkgroup.open(name, isolated=True) as device:
            module = device.compile(f"shaders/findings/{shader}.comp")
            found.append(int(device.run(module, 1, bindings)[output][word]))
    assert found[1] == right != found[0]


def test_an_index_of_a_vector_in_push_constants_that_mesa_takes_from_the_first_lane_is_seen() -> None:
    push = np.concatenate([np.arange(1, 5), np.repeat(np.arange(5, 9), 4)]).astype(np.float32).tobytes()
    found = []
    for name in ("radv-26.1.6:navi31", "reference:64"):
        with vkgroup.open(name, isolated=True) as device:
            module = device.compile("shaders/findings/push_constant_vector.comp")
            result = device.run(module, 1, {"Result": np.zeros((64, 2), np.float32)}, push=push)
            found.append(result["Result"].reshape(64, 2)[:4].tolist())
    assert found == [[[1, 5]] * 4, [[1, 5], [2, 6], [3, 7], [4, 8]]]


def test_a_missing_wait_in_a_loop_is_seen() -> None:
    given = {"Inputs": np.arange(193, dtype=np.uint32), "Outputs": np.zeros(1546, np.uint32)}
    with vkgroup.open("radv-26.1.6:gfx1201", isolated=True) as device:
        module = device.compile("shaders/findings/hazard_in_loop.comp")
        device.run(module, 1, given)  # a workgroup without a round
        with pytest.raises(VkgroupError) as raised:
            device.run(module, 4, given)
    assert "VALUReadSGPRHazard" in str(raised.value)


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


#: A case in which Mesa 26.1.6 loses a `continue` in nested switches, on all GPUs.
LOST_CONTINUE = "reconvergence.subgroup_uniform_control_flow_elect.compute.nesting4.5.25"


def test_a_failure_has_the_machine_code_of_the_wrong_lane(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["conform", "--device", "radv-26.1.6:navi31", "--filter", LOST_CONTINUE, "--no-repro"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 1
    (line,) = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    result = json.loads(line)
    machine = result["evidence"]["machine"]
    # The slice is in the order of execution and ends with the store of the wrong value.
    assert "buffer_store" in machine["slice"][-1]
    assert any(entry.startswith("!") for entry in machine["slice"])
    assert (
        f"The machine code first differs from the reference at {machine['first_difference']}"
        in result["detail"]
    )
    assert machine["first_difference"].split("  ")[1] in "\n".join(machine["slice"])
    assert "by emulation" in capsys.readouterr().out


def _run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a user does."""
    command = [sys.executable, "-m", "vkgroup", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)


def _sum(folder: Path, device: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the scan and compare its result."""
    (folder / "scan.comp").write_text(SCAN)
    values = np.arange(256, dtype=np.uint32)
    np.save(folder / "a.npy", values)
    words = (
        "run",
        "scan.comp",
        "--device",
        device,
        "--groups",
        "2",
        "--in",
        "A=a.npy",
        "--push",
        "k=3",
        *words,
    )
    ran = _run(*words, "--out", "B=uint32[256,2]:b.npy", folder=folder)
    if ran.returncode == 0:
        size = 64
        sums = np.cumsum((3 * values).reshape(-1, size), axis=1, dtype=np.uint32).ravel()
        assert (np.load(folder / "b.npy")[:, 0] == sums).all()
    return ran


def test_a_trace_has_each_instruction_of_a_wave_with_its_values(tmp_path: Path) -> None:
    ran = _sum(tmp_path, "radv:navi31", "--trace", "trace.txt", "--workgroup", "1,0,0")
    assert ran.returncode == 0, ran.stderr
    assert "instructions of a wave: trace.txt" in ran.stderr
    trace = (tmp_path / "trace.txt").read_text()
    assert trace.startswith("# wave 0 of workgroup 1,0,0")
    assert "s_endpgm" in trace.splitlines()[-1]
    # The wave loads the values of its own lanes, those of the second workgroup.
    loaded = " ".join(f"{value:x}" for value in range(128, 192))
    assert loaded in trace


def test_another_build_and_a_product_are_emulated_too(tmp_path: Path, radv: CachedDriver) -> None:
    for device in (f"radv:navi31@{radv.icd}", "Radeon RX 7600"):
        ran = _sum(tmp_path, device)
        assert ran.returncode == 0, ran.stderr
        assert "by emulation of what Mesa" in ran.stderr


def test_a_trace_is_for_emulated_gpus_and_the_reference(tmp_path: Path) -> None:
    ran = _sum(tmp_path, "lavapipe", "--trace", "trace.txt")
    assert ran.returncode == 2
    assert "radv" in ran.stderr


def test_probe_marks_what_it_observes_by_emulation(tmp_path: Path) -> None:
    ran = _run("probe", "--device", "radv:navi31", "--json", "probe.json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Observed, by emulation" in ran.stdout
    assert json.loads((tmp_path / "probe.json").read_text())["emulated"]


def test_an_amber_script_runs_on_an_emulated_gpu(tmp_path: Path) -> None:
    for expected, code in ((4, 0), (5, 1)):
        commands = f"RUN pipeline 1 1 1\nEXPECT data IDX 4 EQ {expected}\n"
        path = scripts.write(tmp_path, scripts.START + commands)
        ran = _run("run", str(path), "--device", "radv:navi31", folder=tmp_path)
        assert ran.returncode == code, ran.stdout + ran.stderr


def test_bench_refuses_an_emulated_gpu(tmp_path: Path) -> None:
    ran = _run("bench", "--device", "radv:navi31", folder=tmp_path)
    assert ran.returncode == 3
    assert "radv" in ran.stderr


def test_it_is_emulated_in_a_process_of_its_own() -> None:
    with pytest.raises(NoDevice) as raised:
        vkgroup.open("radv:navi31")
    assert "isolated=True" in str(raised.value)


def test_a_folder_of_a_failing_case_is_executed_again(tmp_path: Path) -> None:
    case, device = "arithmetic.compute.subgroupExclusiveAdd.u16vec2.switch.exact", "radv-26.1.6:polaris10"
    assert main(["conform", "--device", device, "--repro", case, str(tmp_path / "folder")]) == 1
    assert f"--device {device}" in (tmp_path / "folder" / "README.md").read_text()
    for name, code in ((device, 1), ("reference:64", 0)):
        ran = _run("run", "folder", "--device", name, folder=tmp_path)
        assert ran.returncode == code, ran.stdout + ran.stderr


@pytest.mark.parametrize(("options", "status"), [([], "Pass"), (["--compile-only"], "Compiled")])
def test_a_cluster_executes_on_emulated_gpus(options: list[str], status: str, tmp_path: Path) -> None:
    words = ["conform", "--cluster", "local", "--device", "radv:navi31", "--out", str(tmp_path / "run")]
    assert main([*words, "--filter", "vote.compute.subgroupAll.bool.*.exact", *options]) == 0
    totals = json.loads((tmp_path / "run" / "summary.json").read_text())["totals"]
    assert totals[status] == sum(totals.values()) > 10

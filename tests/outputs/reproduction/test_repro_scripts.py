"""Scripts of a case: they have the verdict of the case, on the device and on the reference device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from mutants.driver_errors import wrong_vote

import vkgroup
from vkgroup.amber import ScriptStatus, read_script, run_script
from vkgroup.cli.main import main
from vkgroup.conformance import Status
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.program import NoProgram
from vkgroup.outputs.reproduction.scripts import write_script
from vkgroup.outputs.reproduction.shaders import read_module
from vkgroup.workers.opening import select
from vkgroup.workers.scheduler import read_capabilities

CASES = [
    "vote.compute.subgroupAll.bool.all.exact",
    "arithmetic.compute.subgroupAdd.float.all.exact",
    "arithmetic.compute.subgroupAdd.vec3.all.rounding",
    "arithmetic.compute.subgroupMin.float.all.special",
    "arithmetic.compute.subgroupExclusiveMul.uvec2.nested.exact",
    "ballot.compute.subgroupBallot.bool.partial.exact",
    "shuffle.compute.subgroupShuffleXor.int64_t.all.exact.by1",
]


def script_of(folder: Path, device: str, kind: str = "amber") -> Path:
    return write_script(folder, read(folder), kind, read_capabilities(select(device)))


def passes_offload(file: Path, device: str) -> bool:
    """Do what the offload-test-suite does with a file of one dispatch: BufferExact compares all bytes."""
    data = yaml.safe_load(file.read_text())
    buffers = {buffer["Name"]: np.array(buffer["Data"], np.uint32) for buffer in data["Buffers"]}
    (resources,) = (entry["Resources"] for entry in data["DescriptorSets"])
    (result,) = data["Results"]
    assert {buffer["Format"] for buffer in data["Buffers"]} == {"UInt32"}
    assert {resource["Kind"] for resource in resources} == {"RWStructuredBuffer"}
    shader = next(line for line in file.read_text().splitlines() if line.startswith("# Run:")).split()[-1]
    with vkgroup.open(device) as opened:
        bindings = {resource["VulkanBinding"]["Binding"]: resource["Name"] for resource in resources}
        after = opened.run(
            read_module(file.parent, shader),
            groups=tuple(data["DispatchParameters"]["DispatchGroupCount"]),
            bindings={binding: buffers[name] for binding, name in bindings.items()},
        )
    (binding,) = (number for number, name in bindings.items() if name == result["Actual"])
    return after[binding].tobytes() == buffers[result["Expected"]].tobytes()


def status_of(script: Path, device: str) -> ScriptStatus:
    with vkgroup.open(device) as opened:
        return run_script(opened, read_script(script), 20).status


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("swiftshader", "lavapipe")
@pytest.mark.parametrize(
    ("device", "reference"), [("swiftshader", "reference:4"), ("lavapipe", "reference:8")]
)
def test_a_passing_case_passes(tmp_path: Path, case: str, device: str, reference: str) -> None:
    if "int64" in case and device == "swiftshader":
        device = reference  # SwiftShader lacks integers of 64 bits
    assert make(select(device), case, tmp_path / "folder").status is Status.PASS
    script = script_of(tmp_path / "folder", device)
    assert status_of(script, device) is ScriptStatus.PASS
    assert status_of(script, reference) is ScriptStatus.PASS
    # The expected values are not those of other subgroup sizes.
    assert status_of(script, "reference:16") is ScriptStatus.NOT_SUPPORTED
    if "int64" not in case:  # refused, see below
        assert status_of(script_of(tmp_path / "folder", device, "vkrunner"), device) is ScriptStatus.PASS


@pytest.mark.parametrize("case", [CASES[0], CASES[4], CASES[5]])
def test_a_passing_case_passes_in_the_offload_test_suite(
    swiftshader: CachedDriver, tmp_path: Path, case: str
) -> None:
    make(select(swiftshader.name), case, tmp_path)
    assert passes_offload(script_of(tmp_path, swiftshader.name, "offload"), swiftshader.name)


def test_a_failing_case_fails(swiftshader: CachedDriver, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert make(select(swiftshader.name), CASES[0], folder, transform=wrong_vote).status is Status.FAIL
    script = script_of(folder, swiftshader.name)
    assert status_of(script, swiftshader.name) is ScriptStatus.FAIL
    # The module is wrong, so it fails on the reference device as well.
    assert status_of(script, "reference:4") is ScriptStatus.FAIL
    assert status_of(script_of(folder, swiftshader.name, "vkrunner"), swiftshader.name) is ScriptStatus.FAIL
    assert not passes_offload(script_of(folder, swiftshader.name, "offload"), swiftshader.name)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("vote.fragment.subgroupAll.bool.nested.exact", "compute shaders only"),
        ("arithmetic.compute.subgroupAdd.double.all.exact", "floats of 32 bits only"),
        ("basic.compute.subgroupBarrier.uint.all.exact.buffer", "not in one storage buffer"),
        ("quad.compute.subgroupQuadBroadcast.bool.odd.exact.beyond", "no result is defined"),
    ],
)
def test_what_the_format_cannot_express(tmp_path: Path, case: str, reason: str) -> None:
    make(select("reference:4"), case, tmp_path / "folder")
    with pytest.raises(NoProgram, match=reason):
        script_of(tmp_path / "folder", "reference:4")


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        ("arithmetic.compute.subgroupAdd.float16_t.all.exact", ("floats of 32 bits", "floats of 32 bits")),
        ("arithmetic.compute.subgroupAdd.i8vec2.all.exact", ("shaderSubgroupExtendedTypes", "")),
        ("arithmetic.compute.subgroupAdd.float.all.exact.size4", ("no required subgroup sizes",) * 2),
        ("arithmetic.compute.subgroupAdd.vec3.all.rounding", ("", "several results are legal")),
        ("arithmetic.compute.subgroupAdd.float.all.exact", ("", "zeros and NaNs")),
    ],
)
def test_what_the_other_formats_cannot_express(tmp_path: Path, case: str, reasons: tuple[str, str]) -> None:
    make(select("reference:4"), case, tmp_path)
    for reason, kind in zip(reasons, ("vkrunner", "offload"), strict=True):
        if reason:
            with pytest.raises(NoProgram, match=reason):
                script_of(tmp_path, "reference:4", kind)
        else:
            assert script_of(tmp_path, "reference:4", kind).is_file()


def test_a_required_size_is_a_feature_of_amber(tmp_path: Path) -> None:
    make(select("reference:4"), "arithmetic.compute.subgroupAdd.uint.all.exact.size4", tmp_path)
    script = script_of(tmp_path, "reference:4")
    lines = script.read_text().splitlines()
    assert "DEVICE_FEATURE SubgroupSizeControl.subgroupSizeControl" in lines
    assert "    REQUIRED_SIZE 4" in lines
    assert read_script(script).size is None  # the pipeline requires it


def test_a_reason_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = "basic.compute.subgroupBarrier.uint.all.exact.buffer"
    options = ["--amber", "--vkrunner", "--offload"]
    assert main(["conform", "--device", "reference:4", "--repro", case, str(tmp_path), *options]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "storage buffer" in line)
    assert all(title in line for title in ("Amber", "VkRunner", "offload"))


def test_check_takes_the_size_of_the_expected_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(select("reference:4"), CASES[4], tmp_path)
    assert main(["check", str(script_of(tmp_path, "reference:4"))]) == 0
    capsys.readouterr()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    words = ["conform", "--device", "reference:4", "--repro", CASES[0], str(folder)]
    assert main([*words, "--amber", "--vkrunner", "--offload"]) == 0
    out = capsys.readouterr().out
    assert f"Amber script: vkgroup run {folder / 'case.amber'} --device D" in out
    assert f"VkRunner script: vkgroup run {folder / 'case.shader_test'} --device D" in out
    assert f"offload-test-suite YAML: offloader {folder / 'case.yaml'} SPIR-V" in out
    assert main(["run", str(folder / "case.shader_test"), "--device", "reference:4"]) == 0
    assert main(["run", str(folder / "case.amber"), "--device", "reference:4"]) == 0
    # The folder itself still repeats the case.
    assert main(["run", str(folder), "--device", "reference:4"]) == 0
    assert main(["conform", "--device", "reference", "--amber"]) == 2
    assert "--amber: only with --repro" in capsys.readouterr().err
    assert (
        main(
            [
                *words[:3],
                "--repro",
                "arithmetic.compute.subgroupAdd.double.all.exact",
                str(folder),
                "--offload",
            ]
        )
        == 0
    )
    assert "There is no offload-test-suite YAML: scripts compare floats" in capsys.readouterr().out
    assert not (folder / "case.amber").exists()

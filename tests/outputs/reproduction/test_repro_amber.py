"""The Amber script of a case: it has the verdict of the case, on the device and on the reference device."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants.driver_errors import wrong_vote

import vkgroup
from vkgroup.amber import ScriptStatus, read_script, run_script
from vkgroup.cli.main import main
from vkgroup.conformance import Status
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction.amber import write_script
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.program import NoProgram
from vkgroup.workers.opening import select

CASES = [
    "vote.compute.subgroupAll.bool.all.exact",
    "arithmetic.compute.subgroupAdd.float.all.exact",
    "arithmetic.compute.subgroupAdd.vec3.all.rounding",
    "arithmetic.compute.subgroupMin.float.all.special",
    "arithmetic.compute.subgroupExclusiveMul.uvec2.nested.exact",
    "ballot.compute.subgroupBallot.bool.partial.exact",
    "shuffle.compute.subgroupShuffleXor.int64_t.all.exact.by1",
]


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
    script = write_script(tmp_path / "folder", read(tmp_path / "folder"))
    assert status_of(script, device) is ScriptStatus.PASS
    assert status_of(script, reference) is ScriptStatus.PASS


def test_a_failing_case_fails(swiftshader: CachedDriver, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert make(select(swiftshader.name), CASES[0], folder, transform=wrong_vote).status is Status.FAIL
    script = write_script(folder, read(folder))
    assert status_of(script, swiftshader.name) is ScriptStatus.FAIL
    # The module is wrong, so it fails on the reference device as well.
    assert status_of(script, "reference:4") is ScriptStatus.FAIL


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
        write_script(tmp_path / "folder", read(tmp_path / "folder"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    words = ["conform", "--device", "reference:4", "--repro", CASES[0], str(folder), "--amber"]
    assert main(words) == 0
    assert f"Amber script: vkgroup run {folder / 'case.amber'} --device D" in capsys.readouterr().out
    assert main(["run", str(folder / "case.amber"), "--device", "reference:4"]) == 0
    # The folder itself still repeats the case.
    assert main(["run", str(folder), "--device", "reference:4"]) == 0
    assert main(["conform", "--device", "reference", "--amber"]) == 2
    assert "--amber: only with --repro" in capsys.readouterr().err

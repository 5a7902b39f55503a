"""Folder of a failing case: its content, and its repetition on devices of each kind."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from mutants.driver_errors import killed

from vkgroup.base import processes
from vkgroup.base.errors import Unsupported
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, assemble, validate
from vkgroup.conformance import Result, Status
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.readme import evidence_table
from vkgroup.spirv import Module
from vkgroup.workers.opening import select
from vkgroup.workers.spare import PROGRAM

CASE = "vote.compute.subgroupAllEqual.vec3.nested.exact"
"""SwiftShader compares the first component alone (docs/results/index.md)."""


@pytest.fixture(scope="module")
def made(swiftshader: CachedDriver, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("repro") / "all-equal"
    return folder, make(select("swiftshader"), CASE, folder)


@pytest.fixture
def folder(made: tuple[Path, Result], tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(made[0], tmp_path / "copy"))


def run(capsys: pytest.CaptureFixture[str], folder: Path, device: str) -> tuple[int, str]:
    code = main(["run", str(folder), "--device", device])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_shaders_are_there_as_source_binary_and_text(made: tuple[Path, Result]) -> None:
    shaders = made[0] / "shaders"
    module = Module.from_bytes((shaders / "0.comp.spv").read_bytes())
    validate(module, TargetEnvironment.VULKAN_1_2)
    text = (shaders / "0.comp.spvasm").read_text()
    assert "OpGroupNonUniformAllEqual" in text
    assert len(assemble(text, TargetEnvironment.VULKAN_1_2).instructions) == len(module.instructions)
    assert "subgroupAllEqual(" in (shaders / "0.comp.glsl").read_text()


def test_each_lane_has_its_input_mask_expected_value_and_what_it_got(made: tuple[Path, Result]) -> None:
    lanes = {path.stem[len("lanes-") :]: np.load(path) for path in (made[0] / "expected").glob("*.npy")}
    assert made[1].status is Status.FAIL
    rows, size = lanes["active"].shape
    assert size == 4
    assert lanes["input"].shape == (rows, size, 3)
    assert lanes["input"].dtype == np.float32
    wrong = lanes["wrong"][..., 0]
    assert f"{wrong.sum()} of {lanes['recorded'].sum()} active lanes are wrong" in made[1].detail
    assert (lanes["got"][wrong] != lanes["least"][wrong]).all()
    assert lanes["defined"][wrong].all()
    for row in np.flatnonzero(wrong.any(axis=1)):
        value = lanes["input"][row][lanes["active"][row]]
        assert (value == value[0]).all() == lanes["least"][row][lanes["active"][row]].all()


def test_inputs_and_outputs_are_those_of_the_dispatch(made: tuple[Path, Result]) -> None:
    record = json.loads((made[0] / "repro.json").read_text())
    (step,) = record["steps"]
    assert step["call"] == "dispatch"
    given = {pair[1]["file"] for pair in step["arguments"]["bindings"]["pairs"]}
    assert given == {"inputs/step0-Inputs.npy", "inputs/step0-Outputs.npy"}
    left, got = np.load(made[0] / "outputs/step0-Outputs.npy"), np.load(made[0] / "expected/lanes-got.npy")
    at = np.load(made[0] / "expected/lanes-at.npy")
    recorded = np.load(made[0] / "expected/lanes-recorded.npy")
    assert (left[at[recorded]] == got[recorded]).all()


def test_the_readme_says_what_is_wrong_and_what_is_required(made: tuple[Path, Result]) -> None:
    text = (made[0] / "README.md").read_text()
    assert "12 of 384 active lanes are wrong" in text
    assert r"> “The function subgroupAllEqual() returns true if \<value> for all active" in text
    assert "KHR_shader_subgroup, revision 6, section 8.18." in text
    assert "| 0 | yes |" in text
    assert "**wrong**" in text
    assert "vkgroup run all-equal" in text
    for path in made[0].rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"`{path.relative_to(made[0])}`" in text


def test_the_device_file_has_the_observations_of_the_probe(made: tuple[Path, Result]) -> None:
    device = json.loads((made[0] / "device.json").read_text())
    assert device["capabilities"]["subgroup"]["size"] == 4
    assert device["experiments"]


def _as_the_reference(folder: Path) -> npt.NDArray[np.uint32]:
    """Return the outputs of the reference device."""
    left = np.load(folder / "outputs/step0-Outputs.npy")
    lanes = {name: np.load(folder / f"expected/lanes-{name}.npy") for name in ("at", "least", "recorded")}
    left[lanes["at"][lanes["recorded"]]] = lanes["least"][lanes["recorded"]]
    return np.asarray(left)


def test_the_same_driver_is_still_wrong(
    made: tuple[Path, Result], capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run(capsys, made[0], "swiftshader")
    assert code == 1
    assert "By the expected values of the folder: 12 of 384 lanes are wrong." in text
    assert "It does not agree." in text


def test_another_device_of_that_size_is_judged_by_the_expected_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but files is needed: the suite has no case of that name."""
    record = json.loads((folder / "repro.json").read_text())
    (folder / "repro.json").write_text(json.dumps(record | {"case": "vote.compute.no_longer"}))
    code, text = run(capsys, folder, "reference:4")
    assert code == 0
    assert "By the expected values of the folder: all 384 defined lanes are right." in text
    assert "12 of 4608 elements are not what they were" in text


def test_a_device_of_another_size_is_judged_by_the_suite(
    made: tuple[Path, Result], capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run(capsys, made[0], "reference:16")
    assert code == 0
    assert "made for subgroups of 4, and this device has 16" in text
    assert "By the rules of the suite" in text


def test_without_rules_another_size_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads((folder / "repro.json").read_text())
    (folder / "repro.json").write_text(json.dumps(record | {"case": "vote.compute.no_longer"}))
    code, text = run(capsys, folder, "reference:16")
    assert code == 3
    assert "lacks the case vote.compute.no_longer" in text


def test_without_expected_values_and_rules_the_record_is_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((folder / "repro.json").read_text())
    changed = record | {"case": "vote.compute.no_longer", "lanes": None}
    (folder / "repro.json").write_text(json.dumps(changed))
    code, text = run(capsys, folder, "reference:4")
    assert code == 1
    assert "It leaves something else than what was recorded as wrong, right or not." in text
    np.save(folder / "outputs/step0-Outputs.npy", _as_the_reference(folder))
    code, text = run(capsys, folder, "reference:4")
    assert code == 1
    assert "It leaves exactly what was recorded as wrong." in text


@pytest.mark.usefixtures("swiftshader")
def test_the_readme_draws_what_families_without_expected_lanes_found(tmp_path: Path) -> None:
    """SwiftShader reads through another invocation's sampler (docs/results/index.md)."""
    case = "descriptor_indexing.compute.sampler.read.nonuniform"
    result = make(select("swiftshader"), case, tmp_path / "sampler")
    assert result.evidence is not None
    lines = (tmp_path / "sampler/README.md").read_text().splitlines()
    head = lines.index("| invocation | descriptor | expected | got |  |")
    rows = result.evidence["rows"]
    one = result.evidence["wrong"][0]
    descriptor, expected, got = (rows[name][one] for name in ("descriptor", "expected", "got"))
    assert lines[head + 2 + one] == f"| {one} | {descriptor} | {expected} | {got} | **wrong** |"
    assert len([line for line in lines if line.startswith("|")]) == 2 + result.evidence["size"]


def test_masks_are_drawn_in_letters() -> None:
    evidence = {
        "where": "warp 3", "slot": 1, "size": 4, "active": "0x7", "wrong": [0], "names": None,
        "rows": {"expected": ["a|b", None, None, None], "got": ["c", "d", None, None]},
        "masks": [
            {"name": "expected", "mask": "0x7", "wrong": "0x0"},
            {"name": "got", "mask": "0xe", "wrong": "0x9"},
        ],
    }  # fmt: skip
    assert evidence_table(evidence) == [
        "Warp 3, place 1 in the shader, active mask `0x7`.",
        "",
        "| lane | active | expected | got |  |",
        "|---|---|---|---|---|",
        "| 0 | yes | a\\|b | c | **wrong** |",
        "| 1 | yes | any | d |  |",
        "| 2 | yes |  |  |  |",
        "| 3 | no |  |  |  |",
        "",
        "Lanes from 0 on: `#` is in the mask, `.` is not, `X` is wrongly in it, and `o` is missing.",
        "",
        "```",
        "expected 0x7  ###.",
        "got 0xe       o##X",
        "```",
        "",
    ]


@pytest.mark.usefixtures("swiftshader")
def test_a_crash_is_written_down(tmp_path: Path) -> None:
    result = make(select("swiftshader"), CASE, tmp_path / "crash", transform=killed)
    assert result.status is Status.CRASH
    text = (tmp_path / "crash/README.md").read_text()
    assert "killed by signal 11" in text
    assert "not given any work before that" in text


@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize("code", ["import os; os.abort()", "print('no answer', flush=True); input()"])
def test_a_process_that_does_not_start_is_no_crash_of_the_case(
    code: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    honest = processes.command

    def command(module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-c", code] if module == PROGRAM else honest(module, *arguments)

    monkeypatch.setattr(processes, "command", command)
    assert main(["conform", "--device", "swiftshader", "--repro", CASE, str(tmp_path / "new")]) == 3
    assert (
        "vkgroup: The process for SwiftShader Device (Subzero) cannot be started: " in capsys.readouterr().err
    )
    code_of_run, said = run(capsys, folder, "swiftshader")
    assert code_of_run == 3
    assert "The process for SwiftShader" in said
    assert "It crashes" not in said


def test_an_unsupported_case_has_no_folder(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="shaderFloat16"):
        make(select("swiftshader"), CASE.replace("vec3", "f16vec3"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.such.case", "new"], "There is no case"),
        ([CASE, "full"], "contains other files"),
        ([CASE, "full/file"], "is a file"),
        ([CASE, "new", "--filter", "vote.*"], "omit --filter"),
        ([CASE, "new", "--baseline", "b", "--skips", "s"], "omit --skips, --baseline"),
        ([CASE, "new", "--flakes", "f", "--save-baseline", "b"], "omit --flakes, --save-baseline"),
        ([CASE, "new", "--shard", "1/2", "--shuffle", "0"], "omit --shard, --shuffle"),
        ([CASE, "new", "--cluster", "local", "--each"], "omit --each, --cluster"),
        ([CASE, "new", "--db", "new.db", "--time-limit", "1"], "omit --time-limit, --db"),
        ([CASE, "new", "--annotations", "github"], "omit --annotations"),
    ],
)
def test_bad_options_exit_with_2(
    words: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VKGROUP_DB", "runs.db")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    case, name, *rest = words
    given = ["conform", "--device", "reference", "--repro", case, str(tmp_path / name), *rest]
    assert main(given) == 2
    assert said in capsys.readouterr().err
    assert (tmp_path / "full/file").read_text() == "mine"


def test_files_that_are_missing_or_elsewhere_are_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "repro.json").read_text()
    (folder / "repro.json").write_text(text.replace("inputs/step0-Inputs.npy", "../../step0-Inputs.npy"))
    code, said = run(capsys, folder, "reference:4")
    assert code == 2
    assert "lies outside of the folder" in said
    (folder / "repro.json").write_text("[]")
    assert run(capsys, folder, "reference:4")[0] == 2
    (folder / "repro.json").unlink()
    code, said = run(capsys, folder, "reference:4")
    assert code == 2
    assert "is not a reproduction folder" in said

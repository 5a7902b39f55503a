"""A reproduction folder of `check`: repeated, corrected, and repeated again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main

SHADERS = Path(__file__).parents[3] / "docs/example-project/shaders"


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    shader, made = str(SHADERS / "count_wrong.comp"), tmp_path / "folder"
    words = ["--device", "none", "--push", "limit=0.5", "--subgroup-size", "8,32,64"]
    assert main(["check", shader, *words, "--repro", str(made)]) == 1
    assert f"vkgroup run {made}" in capsys.readouterr().out
    return made


def test_the_folder_has_the_finding_the_inputs_and_the_expected_values(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    assert "only the first word of a ballot is used" in text
    assert "seen at subgroup size 64" in text
    values, found = np.load(folder / "inputs/Values.npy"), np.load(folder / "expected/size32-Counts.npy")
    assert values.dtype == np.float32
    assert (found[:4] == (values.reshape(4, 128) > 0.5).sum(axis=1)).all()
    assert (np.load(folder / "outputs/size64-Counts.npy")[:4] < found[:4]).all()
    assert {path.name for path in (folder / "shaders").iterdir()} == {
        "0.comp.glsl", "0.comp.spv", "0.comp.spvasm"
    }  # fmt: skip
    assert json.loads((folder / "device.json").read_text())["device"]["name"].startswith("vkgroup reference")


def test_a_finding_is_repeated_and_corrected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder), "--device", "reference"]) == 1
    assert "count_wrong.comp:15" in (text := capsys.readouterr().out) or "count_wrong.comp:" in text
    assert "It does not agree." in text
    source = folder / "shaders/0.comp.glsl"
    source.write_text(source.read_text().replace("uint(bitCount(above.x))", "subgroupBallotBitCount(above)"))
    assert main(["run", str(folder), "--device", "reference"]) == 0
    text = capsys.readouterr().out
    assert "shaders/0.comp.glsl was changed since" in text
    assert "It agrees now." in text


def test_options_of_shaders_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder), "--groups", "4"]) == 2
    assert "omit --groups" in capsys.readouterr().err

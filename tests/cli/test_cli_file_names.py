"""Names of files that are not UTF-8: every command takes them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from vkgroup.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "outputs/report"))
import sample_runs as made

NAME = os.fsdecode(b"bad\xff")
SHADER = """#version 460
#extension GL_GOOGLE_include_directive : require
#include "inc.glsl"
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] += one; }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with such a name, with a shader of such a name and an include."""
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / f"{NAME}.comp").write_text(SHADER)
    (folder / "inc.glsl").write_text("const uint one = 1u;\n")
    return folder


def test_shaders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader = str(folder / f"{NAME}.comp")
    assert main(["compile", shader, "-o", str(folder / f"{NAME}.spv")]) == 0
    for file in (shader, str(folder / f"{NAME}.spv")):
        assert main(["run", file, "--groups", "1", "--out", "0=uint[64]", "--device", "reference"]) == 0
    check = ["--device", "none", "--subgroup-size", "4"]
    repro = ["--json", str(folder / "out.json"), "--repro", str(folder.parent / f"repro-{NAME}")]
    assert main(["check", shader, *check, *repro]) == 0
    assert json.loads((folder / "out.json").read_text())["shader"].endswith("bad\\udcff.comp")
    assert main(["run", str(folder.parent / f"repro-{NAME}"), "--device", "reference"]) == 0
    assert main(["check", str(folder), *check]) == 0
    capsys.readouterr()
    (folder / f"{NAME}.comp").write_text("#version 460\nvoid main() { nonesuch; }\n")
    assert main(["compile", shader]) == 2
    assert "bad\\udcff.comp:2: error" in capsys.readouterr().err


def test_recorded_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / f"{NAME}.json").write_text(json.dumps(made.bench(1.0)))
    database = str(folder / f"{NAME}.db")
    assert main(["history", "add", database, str(folder / f"{NAME}.json")]) == 0
    assert main(["report", str(folder / f"{NAME}.json"), "-o", str(folder / f"{NAME}.html")]) == 0
    assert main(["report", "--db", database, "latest", "-o", str(folder / "r.html")]) == 0
    capsys.readouterr()

"""Received reproduction folders: nothing outside of the folder is read."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.check import check
from vkgroup.cli.main import main
from vkgroup.compiler import compile_source
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction.cases import make
from vkgroup.workers.opening import select

SHADER = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] += 1u; }
"""
SECRET = "secret = 12345u"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    (root / "a.comp").write_text(SHADER)
    words = ["check", str(root / "a.comp"), "--device", "none", "--subgroup-size", "4"]
    assert main([*words, "--repro", str(root / "check")]) == 0
    return root / "check"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of a check's folder, beside a file that it must not read."""
    (tmp_path / "outside.glsl").write_text(f"const uint {SECRET};\n")
    return Path(shutil.copytree(made, tmp_path / "folder"))


def change(folder: Path, **changes: Any) -> None:
    record = json.loads((folder / "repro.json").read_text())
    record["shaders"][0].update(changes)
    (folder / "repro.json").write_text(json.dumps(record))


def repeated(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> tuple[int, str]:
    """Return exit code and output of a repetition."""
    code = main(["run", str(folder), "--device", "reference", *options])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize("name", ["../outside.glsl", "/etc/passwd", "/dev/zero"])
def test_the_source_lies_in_the_folder(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder, source=name)
    code, said = repeated(capsys, folder)
    assert code == 2
    assert f"{name} lies outside of the folder" in said


@pytest.mark.parametrize("file", ["repro.json", "shaders/0.comp.glsl", "shaders/0.comp.spv", "inputs/X.npy"])
def test_symbolic_links_do_not_lead_out(folder: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = (folder / file).rename(folder.parent / "elsewhere")
    (folder / file).symlink_to(elsewhere)
    code, said = repeated(capsys, folder)
    assert code == 2
    assert f"{file} lies outside of the folder" in said


def including(folder: Path, name: str) -> None:
    source = folder / "shaders/0.comp.glsl"
    lines = SHADER.split("\n", 1)
    source.write_text(
        f'{lines[0]}\n#extension GL_GOOGLE_include_directive : require\n#include "{name}"\n{lines[1]}'
    )


def test_includes_do_not_leave_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shaders/link.glsl").symlink_to(folder.parent / "outside.glsl")
    for name in ("../../outside.glsl", str(folder.parent / "outside.glsl"), "link.glsl", "/etc/passwd"):
        including(folder, name)
        code, said = repeated(capsys, folder)
        assert code == 2
        assert "lies outside of" in said
        assert "--allow-outside" in said
        assert "12345" not in said


def test_includes_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shaders/inside.glsl").write_text("const uint inside = 1u;\n")
    including(folder, "inside.glsl")
    code, said = repeated(capsys, folder)
    assert code == 0, said


def test_ones_own_folder_may_include_other_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    including(folder, "../../outside.glsl")
    code, said = repeated(capsys, folder, "--allow-outside")
    assert code == 0, said
    source = folder / "shaders/0.comp.glsl"
    source.symlink_to(source.rename(folder.parent / "own.glsl"))
    code, said = repeated(capsys, folder, "--allow-outside")
    assert code == 0, said


def test_slang_imports_do_not_leave_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.slang").write_text("public static const uint secret = 12345;\n")
    (tmp_path / "folder").mkdir()
    source = 'import "../secret";\nRWStructuredBuffer<uint> x;\n[shader("compute")] [numthreads(1, 1, 1)]\n' \
        "void main() { x[0] = secret; }\n"  # fmt: skip
    name = str(tmp_path / "folder/a.slang")
    compile_source(source, stage="compute", dialect="slang", name=name)
    confined = partial(compile_source, stage="compute", dialect="slang", name=name)
    with pytest.raises(CompileError, match="lies outside of"):
        confined(source, confined_to=tmp_path / "folder")
    (tmp_path / "secret.slang").write_text("public static const uint secret = secret12345;\n")
    with pytest.raises(CompileError, match="lies outside of") as error:
        confined(source, confined_to=tmp_path / "folder")
    assert "12345" not in str(error.value)


def test_lines_of_other_files_are_not_quoted(tmp_path: Path) -> None:
    """A module names its source files; the report quotes lines of those on disk."""
    (tmp_path / "outside.glsl").write_text(f"{SECRET}\n" * 9)
    (tmp_path / "folder").mkdir()
    source = SHADER.replace("x[gl", f'\n#line 3 "{tmp_path / "outside.glsl"}"\nx[gl').replace(
        "] +=", "/ 2] +="
    )
    source = source.replace("460\n", "460\n#extension GL_GOOGLE_cpp_style_line_directive : require\n")
    module = compile_source(source, stage="compute", debug=True)
    quoted = [finding.place.text for finding in check(module, sizes=[4]).findings]
    assert SECRET in quoted
    confined = check(module, sizes=[4], sources=tmp_path / "folder").findings
    assert len(confined) == len(quoted)
    assert not [finding for finding in confined if SECRET in finding.place.text]


def test_a_shader_of_a_step_is_no_file(
    swiftshader: CachedDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`Device.draw` and `Device.trace` also take names of files."""
    folder = tmp_path / "draw"
    make(select("swiftshader"), "vote.fragment.subgroupAll.bool.all.exact", folder)
    text = (folder / "repro.json").read_text()
    record = json.loads(text)
    draw = next(step for step in record["steps"] if step["call"] == "draw")
    for shader in (
        "/tmp/outside.frag",
        {"module": draw["arguments"]["shader"]["module"], "array": "/tmp/outside.frag"},
        {"mapping": [["/tmp/outside.frag", 1]]},
    ):
        draw["arguments"]["shader"] = shader
        (folder / "repro.json").write_text(json.dumps(record))
        assert main(["run", str(folder), "--device", "swiftshader"]) == 2
        assert "is damaged: steps" in capsys.readouterr().err

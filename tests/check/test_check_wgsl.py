"""Checks of WGSL: findings quote its lines, name its variables, and follow its rule for vectors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vkgroup.cli.main import main
from vkgroup.compiler.installed import InstalledCompiler

_SHADERS = sorted((Path(__file__).parent / "wgsl").glob("*.wgsl"))


@pytest.mark.parametrize("file", _SHADERS, ids=lambda file: file.stem)
def test_verdicts(file: Path, tint: InstalledCompiler, checked) -> None:
    text = file.read_text()
    (kind,) = re.findall(r"verdict: (\w+)", text)
    findings = checked(file)["findings"]
    if kind == "nothing":
        assert findings == []
        return
    (line,) = (number for number, row in enumerate(text.splitlines(), 1) if "// here" in row)
    assert (kind, line) in {(entry["kind"], entry["place"]["line"]) for entry in findings}
    assert {entry["place"]["line"] for entry in findings} == {line}


def test_members_of_uniform_buffers_have_their_names(tint: InstalledCompiler, checked) -> None:
    file = Path(__file__).parent / "wgsl" / "right_uniform_count.wgsl"
    report = checked(file, "--in", "params.count=3")
    assert report["findings"] == []
    assert "params.count = 3" in report["text"]
    refused = checked(file, "--in", "params.counts=3")
    assert refused["code"] == 2
    assert "params.count" in refused["error"]


_TWO = """@group(0) @binding(0) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64)
fn fill(@builtin(global_invocation_id) id: vec3u) { dst[id.x] = 1u; }
@compute @workgroup_size(64)
fn collide(@builtin(global_invocation_id) id: vec3u) { dst[id.x / 2u] = id.x; }
"""


def test_each_entry_point_of_a_folder_is_checked(
    tint: InstalledCompiler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.wgsl"
    file.write_text(_TWO)
    assert main(["check", str(tmp_path), "--device", "none"]) == 1
    shown = capsys.readouterr().out
    assert "two.wgsl:fill: clean" in shown
    assert re.search(r"two\.wgsl:collide: 1 finding: .*race", shown)
    assert main(["check", str(file), "--device", "none"]) == 2
    assert "fill (compute), collide (compute)" in capsys.readouterr().err
    assert main(["check", str(file), "--entry-point", "fill", "--device", "none"]) == 0


def test_a_compilation_says_what_it_leaves_out(tint: InstalledCompiler, checked, written) -> None:
    file = written(_TWO, "two.wgsl")
    for options, shown in (
        ((), "robustness off, workgroup zeros off"),
        (("--robustness", "on"), "robustness on, workgroup zeros off"),
    ):
        report = checked(file, "--entry-point", "collide", *options)
        assert shown in report["text"]
        (race,) = report["findings"]
        assert all(word in race["command"] for word in options)


def test_a_file_of_several_stages_is_checked_in_a_folder(
    tint: InstalledCompiler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = "@fragment fn shade() -> @location(0) vec4f { return vec4f(); }\n"
    (tmp_path / "mixed.wgsl").write_text(
        drawn + _TWO[: _TWO.index("@compute @workgroup_size(64)\nfn collide")]
    )
    assert main(["check", str(tmp_path), "--device", "none"]) == 0
    assert "mixed.wgsl:fill: clean" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "mixed.wgsl"), "--device", "none"]) == 0


def test_findings_in_wgsl_have_the_names_of_wgsl(tint: InstalledCompiler, checked, written) -> None:
    text = """enable subgroups;
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(subgroup_size) size: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
    a[id.x / size * size + lane] = subgroupAdd(id.x);
}
"""
    (finding,) = checked(written(text, "shader.wgsl"), "--subgroup-size", "8")["findings"]
    assert finding["kind"] == "assumes"
    assert "local_invocation_index" in finding["message"]
    assert "subgroup_invocation_id" in finding["help"]
    assert "gl_" not in finding["message"] + finding["help"]

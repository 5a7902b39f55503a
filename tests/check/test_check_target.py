"""The compilation target: of ``--target``, of `compile_source` by name, and in a reproduction folder."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from vkgroup.base.errors import CompileError, InvalidInput
from vkgroup.check import check
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, validate
from vkgroup.testing import check_shader

_SOURCE = """#version 460
#extension GL_EXT_demote_to_helper_invocation : enable
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint b[]; };
shared uint s;
void main() {
    if (gl_LocalInvocationIndex == 0u) s = 1u;
    b[gl_GlobalInvocationID.x] = s;
}
"""


@pytest.mark.parametrize("name", ["vulkan1.3", "1.3", TargetEnvironment.VULKAN_1_3])
def test_a_target_may_be_given_by_name(name: str | TargetEnvironment) -> None:
    assert compile_source("void main() {}", stage="comp", target=name).version == (1, 6)
    assert compile_source("void main() {}", stage="comp", target="1.1").version == (1, 3)


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(InvalidInput, match=r"'vulkan1\.9'.*vulkan1\.0, .*vulkan1\.4"):
        compile_source("void main() {}", stage="comp", target="vulkan1.9")


def test_assemble_and_validate_take_names() -> None:
    module = compile_source("void main() {}", stage="comp", target="1.3")
    validate(module, "1.3")
    with pytest.raises(Exception, match="version"):
        validate(module, "vulkan1.1")
    with pytest.raises(InvalidInput):
        assemble("", "2.0")


@pytest.mark.parametrize(("target", "version"), [("1.1", (1, 3)), ("1.3", (1, 6)), (None, (1, 5))])
def test_check_compiles_for_the_target(
    target: str | None, version: tuple[int, int], checked, written, tmp_path: Path
) -> None:
    words = ("--target", target) if target else ()
    folder = tmp_path / "folder"
    report = checked(written(_SOURCE), "--subgroup-size", "4", "--repro", str(folder), *words)
    (finding,) = report["findings"]
    given = shlex.split(finding["command"])
    assert ("--target" in given) == (target is not None)
    if target:
        assert given[given.index("--target") + 1] == target
    record = json.loads((folder / "repro.json").read_text())
    assert record["target"] == f"vulkan{target or '1.2'}"
    words = list((folder / record["shaders"][0]["spirv"]).read_bytes()[4:8])
    assert (words[2], words[1]) == version


def test_a_changed_source_is_compiled_for_the_recorded_target(
    checked, written, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkgroup.outputs.reproduction import findings

    folder = tmp_path / "folder"
    checked(written(_SOURCE), "--subgroup-size", "4", "--target", "1.3", "--repro", str(folder))
    source = folder / json.loads((folder / "repro.json").read_text())["shaders"][0]["source"]
    source.write_text(source.read_text().replace("= s;", "= 1u;"))
    versions = []
    compiled = findings.compile_source

    def note(*words: object, **options: object) -> object:
        versions.append((module := compiled(*words, **options)).version)
        return module

    monkeypatch.setattr(findings, "compile_source", note)
    assert main(["run", str(folder), "--device", "reference"]) == 0
    assert versions == [(1, 6)]


def test_python_takes_a_target(written) -> None:
    file = written(_SOURCE.replace("= s;", "= 1u;"))
    assert check(file, sizes=(4,), target="1.3").findings == ()
    assert check_shader(file, sizes=(4,), target=TargetEnvironment.VULKAN_1_1).findings == ()
    with pytest.raises((InvalidInput, CompileError)):
        check(file, sizes=(4,), target="one")

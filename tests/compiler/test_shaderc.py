"""shaderc as the front: the same modules as glslang's, and what is said when it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from fronts import RICH, both, comparable
from sources import BY_STAGE, COMPUTE

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler import TargetEnvironment, compile_source, validate

pytestmark = pytest.mark.usefixtures("glslc")


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("optimize", [False, "performance"])
@pytest.mark.parametrize("target", list(TargetEnvironment)[1:])
def test_same_interface(target: TargetEnvironment, optimize: str | bool) -> None:
    first, second = both(RICH, stage="compute", target=target, optimize=optimize, defines={"SIZE": 3})
    assert comparable(first) == comparable(second)
    assert first.version == second.version == target.spirv_version
    validate(second, target)


@pytest.mark.parametrize("stage", BY_STAGE)
def test_every_stage(stage: str) -> None:
    first, second = both(BY_STAGE[stage], stage=stage, target=TargetEnvironment.VULKAN_1_2)
    assert comparable(first) == comparable(second)


def test_hlsl_entry_points_and_debug_lines() -> None:
    hlsl = "RWStructuredBuffer<uint> data;\n[numthreads(8, 1, 1)]\n"
    hlsl += "void go(uint3 i : SV_GroupID) { data[i.x] = 1; }"
    first, second = both(hlsl, stage="compute", dialect="hlsl", entry_point="go")
    assert comparable(first)[0] == comparable(second)[0] == [("go", "compute", (8, 1, 1))]
    first, second = both(COMPUTE, stage="compute", entry_point="go", debug=True, name="x.comp")
    assert comparable(first) == comparable(second)
    assert first.debug_source == second.debug_source == COMPUTE
    assert any(instruction.name == "OpLine" for instruction in second.instructions)


def test_no_version_means_the_same() -> None:
    first, second = both("void main() {}", stage="compute")
    assert comparable(first) == comparable(second)


def test_bindings_are_given_out_in_dialect_gl() -> None:
    source = "#version 460\nlayout(local_size_x = 1) in;\n"
    source += "layout(std430) buffer A { uint a; };\nlayout(std430) buffer B { uint b; };\n"
    first, second = both(source + "void main() { a = b; }", stage="compute", dialect="gl")
    assert {b.binding for b in first.reflection.bindings} == {b.binding for b in second.reflection.bindings}


def test_executable_on_path(glslc_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VKGROUP_GLSLC")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerUnavailable, match="apt-get install glslc"):
        compile_source(COMPUTE, stage="compute", compiler="shaderc", cache=False)
    (tmp_path / "glslc").symlink_to(glslc_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compile_source(COMPUTE, stage="compute", compiler="shaderc", cache=False).version == (1, 5)


def test_executable_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "glslc"
    broken.write_text("not a program")
    broken.chmod(0o755)
    monkeypatch.setenv("VKGROUP_GLSLC", str(broken))
    with pytest.raises(CompilerUnavailable, match=r"cannot be run.*VKGROUP_GLSLC"):
        compile_source(COMPUTE, stage="compute", compiler="shaderc")
    monkeypatch.setenv("VKGROUP_GLSLC", str(tmp_path / "none"))
    with pytest.raises(CompilerUnavailable, match="no executable"):
        compile_source(COMPUTE, stage="compute", compiler="shaderc")

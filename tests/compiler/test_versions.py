"""SPIR-V modules and texts of every version, through the functions and commands that take them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import vkgroup
from vkgroup.base.errors import InvalidModule
from vkgroup.check import check
from vkgroup.cli.main import main
from vkgroup.compiler import DEFAULT_TARGET, TargetEnvironment, assemble, compile_file, validate
from vkgroup.testing import check_shader

# Writes 3 * i to element i. Up to SPIR-V 1.3 the storage buffer may be a BufferBlock of Uniform, and from
# SPIR-V 1.4 on the entry point lists all variables.
_TEXT = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id{listed}
OpExecutionMode %main LocalSize 4 1 1
OpName %buffer "data"
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block {decoration}
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%vector = OpTypeVector %uint 3
%input = OpTypePointer Input %vector
%input_uint = OpTypePointer Input %uint
%id = OpVariable %input Input
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pointer = OpTypePointer {storage} %block
%element = OpTypePointer {storage} %uint
%buffer = OpVariable %pointer {storage}
%zero = OpConstant %uint 0
%three = OpConstant %uint 3
%main = OpFunction %void None %function
%label = OpLabel
%position = OpAccessChain %input_uint %id %zero
%index = OpLoad %uint %position
%value = OpIMul %uint %index %three
%place = OpAccessChain %element %buffer %zero %index
OpStore %place %value
OpReturn
OpFunctionEnd
"""


def _text(minor: int, old: bool) -> str:
    words = {
        "decoration": "BufferBlock" if old else "Block",
        "storage": "Uniform" if old else "StorageBuffer",
        "listed": " %buffer" if minor >= 4 else "",
    }
    return f"; SPIR-V\n; Version: 1.{minor}\n{_TEXT.format(**words)}"


def _file(folder: Path, minor: int, old: bool, suffix: str) -> Path:
    file, text = folder / f"module{suffix}", _text(minor, old)
    if suffix == ".spvasm":
        file.write_text(text)
    else:
        file.write_bytes(assemble(text).to_bytes())
    return file


def _command(*words: str) -> Callable[[Path], bool]:
    return lambda file: main([words[0], str(file), *words[1:]]) == 0


def _on_device(file: Path) -> bool:
    with vkgroup.open("reference") as device:
        device.pipeline(device.compile(file))
    return True


_ENTRIES: dict[str, Callable[[Path], object]] = {
    "compile": _command("compile"),
    "check_command": _command("check", "--subgroup-size", "4", "--groups", "2", "--device", "none"),
    "run": _command("run", "--groups", "2", "--out", "data=uint[8]", "--device", "reference"),
    "run_on_a_driver": _command("run", "--groups", "2", "--out", "data=uint[8]"),
    "compile_file": compile_file,
    "device_compile": _on_device,
    "check": lambda file: check(file, sizes=(4,), groups=(2,)),
    "check_shader": lambda file: check_shader(file, sizes=(4,), groups=2),
    "validate": lambda file: validate(assemble(file.read_text())) if file.suffix == ".spvasm" else None,
}

_VALID = [(minor, True) for minor in range(4)] + [(minor, False) for minor in range(3, 7)]


def _accepted(entry: str, file: Path) -> bool:
    try:
        return _ENTRIES[entry](file) is not False
    except InvalidModule:
        return False


@pytest.mark.parametrize("suffix", [".spv", ".spvasm"])
@pytest.mark.parametrize("entry", _ENTRIES)
def test_every_entry_accepts_every_version(entry: str, suffix: str, tmp_path: Path) -> None:
    refused = [(m, old) for m, old in _VALID if not _accepted(entry, _file(tmp_path, m, old, suffix))]
    assert refused == []


@pytest.mark.parametrize("entry", _ENTRIES)
def test_every_entry_refuses_what_a_version_lacks(entry: str, tmp_path: Path) -> None:
    # SPIR-V 1.4 removed BufferBlock.
    assert not [m for m in (4, 5, 6) if _accepted(entry, _file(tmp_path, m, True, ".spvasm"))]


def test_the_output_of_an_old_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, 0, True, ".spv")
    assert _ENTRIES["run"](file)
    assert capsys.readouterr().out == "data = [ 0,  3,  6,  9, 12, 15, 18, 21]\n"


@pytest.mark.parametrize("command", ["compile", "check"])
def test_a_given_target_decides(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, 5, False, ".spv")
    assert main([command, str(file), "--target", "1.1"]) == 2
    assert "not valid for vulkan1.1: Invalid SPIR-V binary version 1.5" in capsys.readouterr().err
    more = ["--subgroup-size", "4", "--groups", "2", "--device", "none"] if command == "check" else []
    assert main([command, str(file), "--target", "1.3", *more]) == 0


def test_the_target_of_a_version() -> None:
    names = [TargetEnvironment.for_spirv((1, minor)).environment for minor in range(8)]
    first = ["vulkan1.0", "vulkan1.1", "vulkan1.1", "vulkan1.1", "vulkan1.1spv1.4", "vulkan1.2"]
    assert names == [*first, "vulkan1.4", "vulkan1.4"]


def test_one_default_for_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.comp"
    file.write_text("void main() {}")
    assert DEFAULT_TARGET.spirv_version == (1, 5)
    assert compile_file(file).version == (1, 5)
    with vkgroup.open("reference") as device:
        assert device.compile(file).version == (1, 5)
        assert device.compile(file, target="1.3").version == (1, 6)
    assert main(["compile", str(file)]) == 0
    assert capsys.readouterr().out.startswith("SPIR-V 1.5, ")


def test_text_without_a_version_has_that_of_the_default() -> None:
    assert assemble(_TEXT.format(decoration="Block", storage="StorageBuffer", listed="")).version == (1, 5)
    older = TargetEnvironment.VULKAN_1_1
    assert assemble("OpCapability Shader", default_target=older).version == (1, 3)

"""assemble, disassemble, validate, optimize."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sources import BY_STAGE, COMPUTE, diagnostics_of

from vkgroup.base.errors import CompileError, InvalidModule
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, disassemble, optimize, validate
from vkgroup.compiler.validator import SpirvTools
from vkgroup.spirv import Module


@pytest.mark.parametrize("stage", BY_STAGE)
def test_disassembly_assembles_to_the_same_words(stage: str) -> None:
    module = compile_source(BY_STAGE[stage], stage=stage, target=TargetEnvironment.VULKAN_1_2)
    again = assemble(disassemble(module, friendly_names=False), TargetEnvironment.VULKAN_1_2)
    # The header tells another generator, and a bound without ids that nothing uses.
    assert again.version == module.version
    assert np.array_equal(again.words[5:], module.words[5:])


def test_disassembly_names_ids_after_the_source() -> None:
    text = disassemble(compile_source(COMPUTE, stage="compute"))
    assert "%gl_GlobalInvocationID" in text


def test_assembly_is_not_validated() -> None:
    module = assemble("OpCapability Shader")
    with pytest.raises(InvalidModule, match="vulkan1"):
        validate(module)


def test_assembly_errors_have_line_and_column() -> None:
    (found,) = diagnostics_of(lambda: assemble("OpCapability Shader\n  OpNonsense 3\n", name="a.spvasm"))
    assert (found.file, found.line) == ("a.spvasm", 2)
    assert found.column > 0
    assert "OpNonsense" in found.message
    (found,) = diagnostics_of(lambda: assemble("OpCapability \ud800"))
    assert (found.file, found.line) == ("<string>", 1)


def test_empty_assembly_is_no_module_to_run() -> None:
    with pytest.raises((CompileError, InvalidModule)):
        validate(assemble(""))


def test_validation_is_for_a_target() -> None:
    module = compile_source(BY_STAGE["mesh"], stage="mesh", target=TargetEnvironment.VULKAN_1_3)
    validate(module, TargetEnvironment.VULKAN_1_3)
    validate(module, TargetEnvironment.VULKAN_1_4)
    with pytest.raises(InvalidModule, match=r"vulkan1\.1"):
        validate(module, TargetEnvironment.VULKAN_1_1)


def test_scalar_layouts_and_local_size_id_are_valid() -> None:
    source = """#version 460
        #extension GL_EXT_scalar_block_layout : require
        layout(local_size_x_id = 0) in;
        layout(binding = 0, scalar) buffer B { vec3 a; vec3 b; } b;
        layout(binding = 1, std430) uniform U { float a[3]; } u;
        void main() { b.a = b.b * u.a[2]; }
    """
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    size = module.reflection.entry_points[0].local_size
    assert size is not None
    assert size.source in ("LocalSizeId", "WorkgroupSize")
    assert [binding.layout for binding in module.reflection.bindings] == ["scalar", "std430"]


@pytest.mark.parametrize("level", ["performance", "size"])
def test_optimize(level: str) -> None:
    module = compile_source(COMPUTE, stage="compute")
    optimized = optimize(module, level)
    validate(optimized)
    assert len(optimized.words) < len(module.words)
    assert optimized.version == module.version
    assert optimize(module, level, target=TargetEnvironment.VULKAN_1_2) == optimized


def test_optimize_refuses_what_is_not_valid() -> None:
    words = compile_source(COMPUTE, stage="compute").words.copy()
    words[-3] = 0xFFFF | 1 << 16
    with pytest.raises(InvalidModule, match="not valid"):
        optimize(Module.from_bytes(words.tobytes()))
    with pytest.raises(CompileError, match="unknown optimization 'best'"):
        optimize(compile_source(COMPUTE, stage="compute"), "best")


def test_optimize_takes_scalar_layouts_and_local_size_id() -> None:
    source = """#version 460
        #extension GL_EXT_scalar_block_layout : require
        layout(local_size_x_id = 0) in;
        layout(binding = 0, scalar) buffer B { uint head; vec3 a[]; } b;
        layout(binding = 1, std430) uniform U { float a[3]; } u;
        void main() { b.a[gl_LocalInvocationIndex] *= u.a[2]; }
    """
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    optimized = optimize(module, target=TargetEnvironment.VULKAN_1_3)
    validate(optimized, TargetEnvironment.VULKAN_1_3)
    assert [binding.layout for binding in optimized.reflection.bindings] == ["scalar", "std430"]


_INVALID = """; Version: 1.3
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%label = OpLabel
OpReturn
OpFunctionEnd
"""


def test_no_validate_accepts_an_invalid_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.spvasm"
    file.write_text(_INVALID)
    assert main(["compile", str(file)]) == 2
    assert "LocalSize execution mode" in capsys.readouterr().err
    assert main(["compile", str(file), "--no-validate"]) == 0
    assert main(["run", str(file), "--groups", "1", "--device", "reference", "--no-validate"]) == 0
    assert main(["check", str(file), "--no-validate", "--device", "none", "--subgroup-size", "4"]) == 0
    assert main(["compile", str(file)]) == 2


def test_a_module_is_validated_once_for_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    problem = SpirvTools.problem

    def counted(tools: SpirvTools, environment: str, words: object) -> str:
        asked.append(environment)
        return problem(tools, environment, words)

    monkeypatch.setattr(SpirvTools, "problem", counted)
    module = assemble(disassemble(compile_source(COMPUTE, stage="compute")) + "\n; once\n")
    asked.clear()
    for each in (module, module, Module.from_bytes(module.to_bytes())):
        validate(each, TargetEnvironment.VULKAN_1_2)
    assert asked == ["vulkan1.2"]
    validate(module, TargetEnvironment.VULKAN_1_3)
    assert asked == ["vulkan1.2", "vulkan1.3"]
    invalid = assemble("OpCapability Shader")
    for _ in range(2):
        with pytest.raises(InvalidModule):
            validate(invalid, TargetEnvironment.VULKAN_1_2)

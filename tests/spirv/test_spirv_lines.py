"""Source lines of instructions: from OpLine, through includes, from NonSemantic information, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.compiler import TargetEnvironment, assemble, compile_file, compile_source
from vkgroup.spirv import Module
from vkgroup.spirv.lines import NOWHERE, Line, LineTable

_SOURCE = """#version 460
layout(local_size_x = 4) in;
layout(binding = 0) buffer B { uint b[]; };
// total is written below
shared uint total;
uint twice(uint v) {
    uint r = v * 2u;
    return r;
}
void main() {
    uint r;
    r = twice(b[0]);
    b[1] = r +
        total;
}
"""


def _lines(module: Module, name: str) -> list[int]:
    table = LineTable(module)
    return [table[entry.position].number for entry in module.instructions if entry.name == name]


@pytest.fixture
def module() -> Module:
    return compile_source(_SOURCE, stage="compute", name="some.comp", debug=True)


def test_instructions_have_the_lines_of_their_statements(module: Module) -> None:
    assert _lines(module, "OpIMul") == [7]
    assert _lines(module, "OpFunctionCall") == [12]
    assert _lines(module, "OpReturnValue") == [8]
    table = LineTable(module)
    (place,) = (entry.position for entry in module.instructions if entry.name == "OpIMul")
    assert table[place] == Line("some.comp", 7)
    assert table.text(table[place]) == "    uint r = v * 2u;"
    assert table.text(NOWHERE) == ""


def test_variables_are_found_where_they_are_declared(module: Module) -> None:
    table = LineTable(module)
    result = {}
    for entry in module.instructions:
        if entry.name == "OpVariable":
            result.setdefault(table.names[entry.result_id], []).append(
                table.declaration(entry.result_id).number
            )
    assert result["total"] == [5]
    assert sorted(result["r"]) == [7, 11]


def test_lines_of_included_files_name_them(tmp_path: Path) -> None:
    (tmp_path / "half.glsl").write_text("uint half_of(uint v) {\n    return v >> 1;\n}\n")
    main = tmp_path / "main.comp"
    main.write_text(
        "#version 460\n#extension GL_GOOGLE_include_directive : require\nlayout(local_size_x = 1) in;\n"
        '#include "half.glsl"\n'
        "layout(binding = 0) buffer B { uint b; };\nvoid main() {\n    b = half_of(b) + 1u;\n}\n"
    )
    module = compile_file(main, debug=True)
    table = LineTable(module)
    lines = {
        entry.name: table[entry.position]
        for entry in module.instructions
        if entry.name in ("OpShiftRightLogical", "OpIAdd")
    }
    assert lines["OpShiftRightLogical"].file.endswith("half.glsl")
    assert lines["OpShiftRightLogical"].number == 2
    assert lines["OpIAdd"] == Line(str(main), 7)
    assert table.text(lines["OpIAdd"]) == "    b = half_of(b) + 1u;"


def test_variables_are_found_in_included_files(tmp_path: Path) -> None:
    (tmp_path / "sum.glsl").write_text(
        "// total holds the sum\nshared uint total;\nvoid add(uint v) {\n    atomicAdd(total, v);\n}\n"
    )
    main = tmp_path / "main.comp"
    main.write_text(
        "#version 460\n#extension GL_GOOGLE_include_directive : require\nlayout(local_size_x = 1) in;\n"
        '#include "sum.glsl"\nvoid main() {\n    add(1u);\n}\n'
    )
    module = compile_file(main, debug=True)
    table = LineTable(module)
    (variable,) = (number for number, name in table.names.items() if name == "total")
    line = table.declaration(variable)
    assert (Path(line.file).name, line.number) == ("sum.glsl", 2)
    assert table.text(line) == "shared uint total;"


def test_a_module_without_debug_information_has_no_lines() -> None:
    module = compile_source(_SOURCE, stage="compute")
    table = LineTable(module)
    assert all(table[entry.position] == NOWHERE for entry in module.instructions)
    assert table[-1] == NOWHERE


_NON_SEMANTIC = """
OpCapability Shader
OpExtension "SPV_KHR_non_semantic_info"
%set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "shader.hlsl"
%text = OpString "first
second
third"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%type = OpTypeFunction %void
%source = OpExtInst %void %set DebugSource %file %text
%main = OpFunction %void None %type
%entry = OpLabel
%line2 = OpExtInst %void %set DebugLine %source %two %two %one %one
%sum = OpIAdd %uint %one %two
%line3 = OpExtInst %void %set DebugLine %source %three %three %one %one
%product = OpIMul %uint %one %two
%none = OpExtInst %void %set DebugNoLine
%difference = OpISub %uint %one %two
OpReturn
OpFunctionEnd
"""


def test_non_semantic_debug_information_is_read() -> None:
    module = assemble(_NON_SEMANTIC, TargetEnvironment.VULKAN_1_3)
    table = LineTable(module)
    lines = {entry.name: table[entry.position] for entry in module.instructions}
    assert lines["OpIAdd"] == Line("shader.hlsl", 2)
    assert lines["OpIMul"] == Line("shader.hlsl", 3)
    assert lines["OpISub"] == NOWHERE
    assert table.text(lines["OpIMul"]) == "third"

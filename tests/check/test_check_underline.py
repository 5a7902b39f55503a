"""The underlined part of a quoted line: the expression at the column, or the whole line without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.check.findings import Finding, FindingKind, SourceLocation
from vkgroup.check.report_text import finding_lines, underlined
from vkgroup.compiler import assemble, disassemble
from vkgroup.spirv.lines import LineTable

_LINE = "\tuint a = data[t.x].u + WaveActiveSum(f(t[1]), 2), b = 3; // (c)"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("uint", "uint a = data[t.x].u + WaveActiveSum(f(t[1]), 2), b = 3;"),
        ("data", "data[t.x].u"),
        ("+", "+"),
        ("WaveActiveSum", "WaveActiveSum(f(t[1]), 2)"),
        ("f(", "f(t[1])"),
        ("t.x", "t.x"),
        ("3;", "3"),
        ("b =", "b"),
    ],
)
def test_the_expression_at_a_column(at: str, expected: str) -> None:
    start, end = underlined(_LINE, _LINE.index(at) + 1)
    assert _LINE[start:end] == expected


@pytest.mark.parametrize("column", [0, 1, len(_LINE), len(_LINE) + 5, _LINE.index("// (c)") + 4, -3])
def test_the_whole_line_without_a_usable_column(column: int) -> None:
    start, end = underlined(_LINE, column)
    assert _LINE[start:end] == _LINE.strip().removesuffix(" // (c)")


def test_columns_in_a_line_with_other_characters_are_not_used() -> None:
    text = "  int π = f(1);"
    start, end = underlined(text, text.index("f") + 1)
    assert text[start:end] == text.strip()


def test_an_argument_that_ends_on_another_line() -> None:
    start, end = underlined("a = f(1,", 5)
    assert (start, end) == (4, 5)


@pytest.mark.parametrize(("text", "column"), [("\tx =\tf(2);", 6), ("        x = f(2);", 13)])
def test_tabs_are_expanded(text: str, column: int) -> None:
    place = SourceLocation("a.comp", 7, text, 3, column)
    lines = [line.plain for line in finding_lines(Finding(FindingKind.RACE, "m", place))]
    code, marks = (line.split(" | ")[1] for line in lines[2:4])
    assert code[marks.index("^") : marks.rindex("^") + 1] == "f(2)"


_SHADER = """RWStructuredBuffer<uint> data : register(u0);
[numthreads(8, 1, 1)]
void main(uint3 t : SV_DispatchThreadID) {
\tuint a = t.x, b = WaveReadLaneAt(a, 9);
    data[t.x] = b;
}
"""


def test_dxc_gives_the_column_of_the_expression(checked, written) -> None:
    file: Path = written(_SHADER, "shader.comp.hlsl")
    report = checked(file, "--compiler", "dxc", "--subgroup-size", "4")
    (finding,) = report["findings"]
    assert (finding["place"]["line"], finding["place"]["column"]) == (4, 20)
    # Three columns more than characters, for the tab.
    assert "  | " + " " * 22 + "^" * len("WaveReadLaneAt(a, 9)") in report["text"].split("\n")


def test_slang_gives_the_column_of_the_statement(checked, written) -> None:
    source = "uint v;\n\tif (t.x > 3)\n\t\tdata[t.x] = 1;\n    data[t.x / 2] = t.x; data[0] = v;\n}"
    shader = f"{_SHADER.split(chr(9))[0]}\n{source}"
    report = checked(written(shader, "shader.comp.hlsl"), "--compiler", "slang", "--subgroup-size", "4")
    columns = {(finding["place"]["line"], finding["place"]["column"]) for finding in report["findings"]}
    assert columns == {(8, 5)}


def test_glslang_gives_no_column(checked, written) -> None:
    shader = "#version 460\nlayout(local_size_x = 8) in;\nlayout(binding = 0) buffer B { uint b; };\n"
    report = checked(written(f"{shader}void main() {{\n  b = 1u + gl_LocalInvocationIndex;\n}}\n"))
    (finding,) = report["findings"]
    assert (finding["place"]["line"], finding["place"]["column"]) == (5, 0)


def test_lines_with_columns_are_equal_to_lines_without() -> None:
    """Source texts number their lines without columns."""
    module = assemble(
        """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "x.comp"
OpSource GLSL 450 %file "first
second"
%void = OpTypeVoid
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%label = OpLabel
OpLine %file 2 3
OpReturn
OpFunctionEnd"""
    )
    assert "OpLine" in disassemble(module)
    table = LineTable(module)
    position = next(entry.position for entry in module.instructions if entry.name == "OpReturn")
    assert (table[position].number, table[position].column) == (2, 3)
    assert table.text(table[position]) == "second"

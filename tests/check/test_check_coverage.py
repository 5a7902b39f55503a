"""Coverage in the verdict: what a check did not execute, and further inputs that execute more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from vkgroup import testing
from vkgroup.check import check
from vkgroup.cli.main import main

Written = Callable[..., Path]
Checked = Callable[..., dict[str, Any]]

_SHADER = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer B {{ uint b[]; }};
{declaration}
bool flagged(uint v) {{ bool flag = false; if (v == 123456789u) flag = true; return flag; }}
void main() {{
    uint i = gl_GlobalInvocationID.x;
    b[i] += 1u;
    if ({condition})
        b[i] = subgroupMin(b[i]) * 0u;
}}
"""
_LINE = 11

_NOT_EXECUTED = {
    "contents": ("", "b[i] == 123456789u"),
    "workgroup": ("", "gl_WorkGroupID.x == 40"),
    "number of workgroups": ("", "gl_NumWorkGroups.x == 40"),
    "float": ("layout(push_constant) uniform P { float f; };", "f > 100.0"),
    "result of an atomic": ("layout(binding = 1) buffer C { uint c; };", "atomicAdd(c, 1u) == 123456789u"),
    "flag": ("", "flagged(b[i])"),
    "hash": ("layout(push_constant) uniform P { uint h; };", "h * 2654435761u == 12345u"),
}


@pytest.mark.parametrize("name", _NOT_EXECUTED)
def test_what_did_not_run_is_named(name: str, checked: Checked, written: Written) -> None:
    declaration, condition = _NOT_EXECUTED[name]
    file = written(_SHADER.format(declaration=declaration, condition=condition))
    report = checked(file, "--subgroup-size", "4,32")
    assert (report["code"], report["findings"]) == (0, [])
    assert report["covered"]["not_executed"] == [f"line {_LINE}"]
    assert f"nothing found in what ran; not executed: line {_LINE}\n" in report["text"]
    assert checked(file, "--subgroup-size", "4,32", "--strict")["code"] == 1


_UNREACHABLE = {
    "literal": ("const uint N = 3u;", "N == 4u", []),
    "given push constant": ("layout(push_constant) uniform P { uint n; };", "n == 4u", ["--push", "n=3"]),
    "constant of the source": ("layout(constant_id = 0) const uint N = 3u;", "N == 4u", []),
    "given constant": ("layout(constant_id = 0) const uint N = 0u;", "N == 4u", ["--spec", "0=3"]),
    "size of the subgroup": ("", "gl_SubgroupSize == 64", []),
    "lane": ("", "gl_SubgroupInvocationID >= 32", []),
    "local position": ("", "gl_LocalInvocationIndex >= 64", []),
    "given workgroups": ("", "gl_WorkGroupID.x == 40", ["--groups", "3"]),
    "function that is not called": ("void f() { b[0] = 1u; }", "false", []),
    "size of the subgroup after another branch": (
        "uint size(uint v) { uint x = 0u; if (v > 3u) x = 1u; uint m = gl_SubgroupSize; return m; }",
        "size(b[i]) == 64u",
        [],
    ),
}


@pytest.mark.parametrize("name", _UNREACHABLE)
def test_what_cannot_be_reached_does_not_count(name: str, checked: Checked, written: Written) -> None:
    declaration, condition, options = _UNREACHABLE[name]
    file = written(_SHADER.format(declaration=declaration, condition=condition))
    report = checked(file, "--subgroup-size", "4,32", "--strict", *options)
    assert (report["code"], report["findings"], report["covered"]["not_executed"]) == (0, [], [])


_REACHED = {
    "literal": ("layout(push_constant) uniform P { uint mode; };", "mode == 7u"),
    "two values": ("layout(push_constant) uniform P { uint a, c; };", "a == 7u && c == 9u"),
    "upper half": ("layout(push_constant) uniform P { uint packed; };", "(packed >> 16) > 2u"),
    "member of a uniform buffer": ("layout(binding = 1) uniform U { uint pad; uint mode; };", "mode == 6u"),
    "component": ("layout(push_constant) uniform P { uvec4 v; };", "v.w == 11u"),
}


@pytest.mark.parametrize("name", _REACHED)
def test_values_are_searched_that_execute_more(name: str, checked: Checked, written: Written) -> None:
    declaration, condition = _REACHED[name]
    wrong = _SHADER.format(declaration=declaration, condition=condition).replace("* 0u", "+ 1u")
    report = checked(written(wrong), "--subgroup-size", "4,32")
    assert (report["code"], report["covered"]["not_executed"]) == (1, [])
    assert ("differs", _LINE) in {(each["kind"], each["place"]["line"]) for each in report["findings"]}


def test_an_error_with_another_constant_of_the_pipeline_is_a_question(
    checked: Checked, written: Written
) -> None:
    declaration, condition = "layout(constant_id = 0) const uint MODE = 0u;", "MODE == 5u"
    wrong = _SHADER.format(declaration=declaration, condition=condition).replace("* 0u", "+ 1u")
    report = checked(written(wrong), "--subgroup-size", "4,32")
    assert (report["code"], report["findings"], report["covered"]["not_executed"]) == (0, [], [])
    (question,) = report["questions"]
    assert [(value["name"], value["value"]) for value in question["values"]] == [("MODE", 5)]
    assert {each["kind"] for each in question["findings"]} == {"differs"}


def test_the_command_of_a_finding_has_the_values_that_show_it(
    checked: Checked, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    declaration, condition = _REACHED["literal"]
    wrong = _SHADER.format(declaration=declaration, condition=condition).replace("* 0u", "+ 1u")
    modes = wrong.replace("b[i] += 1u;", "if (mode != 7u) b[i] += 1u;")
    (finding,) = checked(written(modes), "--subgroup-size", "4,32")["findings"]
    words = finding["command"].split()
    assert words[:2] == ["vkgroup", "check"]
    capsys.readouterr()
    assert main(words[1:]) == 1
    assert f":{_LINE}\n" in capsys.readouterr().out


def test_a_verdict_without_a_compared_number_says_so(checked: Checked, written: Written) -> None:
    file = written("""#version 460
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer B { uint b; };
void main() { atomicExchange(b, gl_WorkGroupID.x); }
""")
    report = checked(file, "--subgroup-size", "32")
    assert (report["code"], report["covered"]["compared"]) == (0, 0)
    assert "nothing found in what ran; no number of the outputs was compared" in report["text"]
    assert checked(file, "--subgroup-size", "32", "--strict")["code"] == 1


def test_exports_say_what_did_not_run(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declaration, condition = _NOT_EXECUTED["contents"]
    file = written(_SHADER.format(declaration=declaration, condition=condition))
    junit = tmp_path / "junit.xml"
    options = ["--device", "none", "--no-cache", "--jobs", "1", "--subgroup-size", "32"]
    assert main(["check", str(file.parent), *options, "--junit", str(junit)]) == 0
    assert "1 clean in part" in capsys.readouterr().out
    (skipped,) = ElementTree.parse(junit).getroot().iter("skipped")
    assert f"line {_LINE}" in skipped.get("message", "")
    assert main(["check", str(file.parent), *options, "--strict"]) == 1


def test_check_shader_warns_of_what_did_not_run(written: Written) -> None:
    declaration, condition = _NOT_EXECUTED["contents"]
    file = written(_SHADER.format(declaration=declaration, condition=condition))
    with pytest.warns(UserWarning, match=f"line {_LINE}"):
        testing.check_shader(file, sizes=(32,))
    with pytest.raises(testing.ShaderFindings):
        testing.check_shader(file, sizes=(32,), strict=True)


def test_a_fragment_shader_names_what_did_not_run(checked: Checked, written: Written) -> None:
    text = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(location = 0) in float v;
layout(location = 0) out float color;
void main() {
    color = v;
    if (v > 1000.0)
        color = subgroupMax(v) * 0.0;
}
"""
    report = checked(written(text, "shader.frag"), "--subgroup-size", "4")
    assert (report["code"], report["covered"]["not_executed"]) == (0, ["line 8"])


def test_a_folder_repeats_the_finding_of_further_values(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer B { uint b[]; };
layout(push_constant) uniform P { uint mode; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (mode == 7u) b[i] = subgroupAdd(b[i]);
    else b[i] += 1u;
}
"""
    folder = tmp_path / "folder"
    options = ["--device", "none", "--subgroup-size", "4,32", "--repro", str(folder)]
    assert main(["check", str(written(text)), *options]) == 1
    assert "push constant mode = 7" in capsys.readouterr().out
    assert main(["run", str(folder), "--device", "reference:32"]) == 1
    assert "differs" in capsys.readouterr().out


_MIXED = """#version 450
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B {{ uint b[]; }};
shared uint cell;
void main() {{
    uint i = gl_LocalInvocationIndex;
    {first}
    {between}
    {then}
    barrier();
    if (i == 0u) b[gl_WorkGroupID.x] = cell;
}}
"""
_SET, _ADD = "if (i == 0u) atomicStore(cell, 1u, gl_ScopeWorkgroup, 0, 0);", "atomicAdd(cell, 1u);"


@pytest.mark.parametrize(
    ("first", "between", "then", "depends"),
    [
        (_SET, "", "if (atomicAdd(cell, 1u) == 99u) b[3] = 1u;", True),
        (_SET, "barrier();", _ADD, False),
        (_SET, "barrier(); atomicAdd(cell, 1u);", "atomicAdd(cell, 0xFFFFFFFFu);", False),
        (_SET, "barrier(); atomicAdd(cell, 1u);", "atomicMax(cell, 7u);", True),
        (_SET, "barrier(); atomicAdd(cell, 1u); barrier();", "atomicMax(cell, 7u);", False),
        (_SET, "barrier();", "atomicStore(cell, i / 32u, gl_ScopeWorkgroup, 0, 0);", True),
        (_SET, "barrier();", "atomicStore(cell, 5u, gl_ScopeWorkgroup, 0, 0);", False),
    ],
)
def test_atomics_of_two_kinds_have_a_result_only_in_an_order(
    tmp_path: Path, first: str, between: str, then: str, depends: bool
) -> None:
    shader = tmp_path / "mixed.comp"
    shader.write_text(_MIXED.format(first=first, between=between, then=then))
    covered = check(shader, sizes=(8,), groups=(4, 1, 1), inputs={"B": np.zeros(4, np.uint32)}).covered
    assert (covered.compared, covered.ordered) == ((0, 4) if depends else (4, 0))

"""Findings that a comment, a configuration or a baseline allows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from vkgroup.base.choices import FINDING_KINDS
from vkgroup.base.files import kinds
from vkgroup.check.checking import check
from vkgroup.check.findings import FindingKind
from vkgroup.cli.main import main

Write = Callable[..., Path]

GLSL = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() {
    %s
    b[gl_GlobalInvocationID.x] = subgroupAdd(a[gl_GlobalInvocationID.x]); %s
}
"""
HLSL = """StructuredBuffer<uint> a : register(t0);
RWStructuredBuffer<uint> b : register(u1);
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {
    %s
    b[id.x] = WaveActiveSum(a[id.x]); %s
}
"""
SLANG = HLSL.replace("[num", '[shader("compute")] [num')
WGSL = """enable subgroups;
@group(0) @binding(0) var<storage, read> a : array<u32>;
@group(0) @binding(1) var<storage, read_write> b : array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
    %s
    b[id.x] = subgroupAdd(a[id.x]); %s
}
"""
FRAGMENT = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(location = 0) out vec4 color;
void main() {
    %s
    color = vec4(float(subgroupAdd(1u))); %s
}
"""
ALLOW = "// vkgroup: allow(differs): the sum of a subgroup is what it shows"

TWO_LINES = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer B { uint b[]; };
shared uint part[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    part[t] = t;
    barrier();
    uint one = part[t + 7u];%s
    uint other = part[t + 5u];%s
    b[gl_GlobalInvocationID.x] = one + other;
}
"""


def _found(report: dict[str, Any]) -> list[tuple[str, int]]:
    return [(finding["kind"], finding["place"]["line"]) for finding in report["findings"]]


@pytest.mark.usefixtures("tint")
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("source", "name"),
    [
        (GLSL, "a.comp"),
        (HLSL, "a.hlsl"),
        (SLANG, "a.slang"),
        (WGSL, "a.wgsl"),
        (FRAGMENT, "a.frag"),
    ],
)
def test_a_comment_allows_a_finding_in_its_line_or_the_next_one(
    source: str, name: str, alone: bool, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    line = next(
        number for number, text in enumerate(source.split("\n"), 1) if "Sum(" in text or "Add(" in text
    )
    assert ("differs", line) in _found(checked(written(source % ("", ""), name)))
    shader = written(source % ((ALLOW, "") if alone else ("", ALLOW)), name)
    report = checked(shader)
    assert report["code"] == 0
    upper = written(shader.read_text().replace("vkgroup: allow", "VkGroup: Allow"), name)
    assert _found(checked(upper)) == []
    assert _found(report) == []
    for allowed in report["allowed"]:
        assert allowed["finding"]["place"]["line"] == line
        assert allowed["allowance"]["reason"] == "the sum of a subgroup is what it shows"
        assert allowed["allowance"]["origin"] == f"{shader}:{line - alone}"
    assert f"allowed: differs at {shader}:{line}: the sum of a subgroup is what it shows" in report["text"]
    assert re.search(r"nothing found, \d allowed$", report["text"], re.MULTILINE)


def test_an_allowance_covers_one_kind(checked: Callable[..., dict[str, Any]], written: Write) -> None:
    shader = written(GLSL % (ALLOW.replace("differs", "race"), ""))
    report = checked(shader)
    assert _found(report) == [("differs", 8)]
    assert report["code"] == 1
    assert f"not needed by this check: {shader}:7: allow(race): the sum" in report["text"]


def test_a_finding_with_two_lines_needs_two_allowances(
    checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    comment = " // vkgroup: allow(bounds): tried"
    (both,) = checked(written(TWO_LINES % ("", "")))["findings"]
    lines = [both["place"]["line"], *(place["line"] for place in both["further"])]
    assert lines == [9, 10]
    one = checked(written(TWO_LINES % (comment, "")))
    assert _found(one) == [("bounds", 10)]
    assert one["findings"][0]["further"] == []
    assert [entry["finding"]["place"]["line"] for entry in one["allowed"]] == [9]
    assert checked(written(TWO_LINES % (comment, comment)))["code"] == 0


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("// vkgroup: allow(difers): x", "'difers' is no kind of finding. Did you mean 'differs'?"),
        ("// vkgroup: allow(differs)", "the allowance of differs gives no reason."),
        ("// vkgroup: allow(differs):  ", "the allowance of differs gives no reason."),
        ("// VKGROUP: alow(differs): x", "has another form than // vkgroup: allow(KIND): reason"),
        ("// vkgroup: alow(differs): x", "has another form than // vkgroup: allow(KIND): reason"),
        ("// vkgroup allow(differs): x", "has another form than // vkgroup: allow(KIND): reason"),
        ("/* vkgroup: ignore */", "has another form than // vkgroup: allow(KIND): reason"),
    ],
)
def test_a_wrong_comment_is_an_error(
    comment: str, message: str, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    shader = written(GLSL % (comment, ""))
    report = checked(shader)
    assert report["code"] == 2
    assert f"{shader}:7: " in report["error"]
    assert message in report["error"]


def test_an_include_may_allow(tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write) -> None:
    body = "b[gl_GlobalInvocationID.x] = subgroupAdd(a[gl_GlobalInvocationID.x]);"
    text = GLSL.replace("void main", "#extension GL_GOOGLE_include_directive : require\nvoid main")
    written(text.replace(body, '\n#include "body.glsl"\n') % ("", ""), "main.comp")
    include = written(f"{body}\n", "body.glsl")
    # As a folder, since outcomes of unchanged shaders are kept, and the module does not have the comment.
    words = ["check", str(tmp_path), "--json", str(tmp_path / "x.json")]
    assert main(words) == 1
    include.write_text(f"{body} {ALLOW}\n")
    assert main(words) == 0
    (entry,) = json.loads((tmp_path / "x.json").read_text())["configurations"]
    assert [each["finding"]["place"]["file"] for each in entry["report"]["allowed"]] == [str(include)]
    assert entry["summary"] == "clean, 1 allowed"


@pytest.mark.parametrize(
    ("allow", "code"),
    [
        ({"kind": "differs", "line": 8, "reason": "x"}, 0),
        ({"kind": "differs", "line": 8, "reason": "x", "file": "a.comp"}, 0),
        ({"kind": "differs", "line": 8, "reason": "x", "file": "b.comp"}, 1),
        ({"kind": "differs", "line": 7, "reason": "x"}, 1),
        (
            {
                "kind": "differs",
                "line": "b[gl_GlobalInvocationID.x] = subgroupAdd(a[gl_GlobalInvocationID.x]);",
                "reason": "x",
            },
            0,
        ),
        ({"kind": "differ", "line": 8, "reason": "x"}, "allow[0]: 'differ' is no kind of finding"),
        ({"kind": "differs", "line": 8}, "allow[0]: the field 'reason' is missing"),
        ({"kind": "differs", "line": 8, "reason": " "}, "allow[0]: the reason is empty"),
        ({"kind": "differs", "line": 0, "reason": "x"}, "allow[0]: expected the number of a line"),
        ({"kind": "differs", "line": 8, "reason": "x", "x": 1}, "allow[0]: the field 'x' is unknown"),
        ({"kind": "differs", "lines": 8, "reason": "x"}, "Did you mean 'line'?"),
    ],
)
def test_a_configuration_allows(
    allow: dict[str, Any],
    code: int | str,
    tmp_path: Path,
    checked: Callable[..., dict[str, Any]],
    written: Write,
) -> None:
    shader = written((GLSL % ("", "")).replace("\n    \n", "\n\n"), "a.comp")
    file = tmp_path / "with.json"
    file.write_text(json.dumps({"allow": [allow]}))
    report = checked(shader, "--with", str(file))
    if isinstance(code, str):
        assert report["code"] == 2
        assert code in report["error"]
        return
    assert report["code"] == code
    assert len(report["allowed"]) == 1 - code
    assert ("not needed by this check" in report["text"]) == bool(code)


def test_a_baseline_knows_findings_until_they_are_gone(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    file = tmp_path / "known.json"
    shader = written(TWO_LINES % ("", ""))
    assert checked(shader, "--save-baseline", str(file))["code"] == 1
    known = json.loads(file.read_text())["allow"]
    assert [entry["line"] for entry in known] == ["uint one = part[t + 7u];", "uint other = part[t + 5u];"]
    assert {entry["file"] for entry in known} == {"shader.comp"}
    known[0]["reason"] = "see issue 7"
    file.write_text(json.dumps({"allow": known}))
    # Lines move, and there is a new error.
    moved = written("\n" + (TWO_LINES % ("", "")).lstrip("\n"))
    report = checked(moved, "--baseline", str(file))
    assert (report["code"], len(report["allowed"])) == (0, 2)
    worse = written((TWO_LINES % ("", "")).replace("one + other", "one + other + part[t + 9u]"))
    report = checked(worse, "--baseline", str(file))
    assert _found(report) == [("bounds", 11)]
    # One is corrected: its entry is reported, and leaves the file when that is saved.
    better = written(TWO_LINES.replace("part[t + 5u]", "part[t]") % ("", ""))
    report = checked(better, "--baseline", str(file), "--save-baseline", str(file))
    assert report["code"] == 0
    assert f"not needed by this check: {file}: allow(bounds) in line 'uint other" in report["text"]
    (left,) = json.loads(file.read_text())["allow"]
    assert left["reason"] == "see issue 7"


def test_a_baseline_is_not_thinned_out_by_a_check_that_did_not_end(tmp_path: Path, written: Write) -> None:
    file = tmp_path / "known.json"
    shader = written(TWO_LINES % ("", ""))
    words = ["check", str(shader), "--device", "none", "--save-baseline", str(file)]
    assert main(words) == 1
    before = file.read_text()
    shader.write_text("no shader")
    assert main([*words, "--baseline", str(file)]) == 2
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not valid JSON"), ('{"allow": 3}', "expected a list"), (None, "cannot be read")],
)
def test_a_file_that_is_no_baseline(
    content: str | None,
    message: str,
    tmp_path: Path,
    checked: Callable[..., dict[str, Any]],
    written: Write,
) -> None:
    file = tmp_path / "known.json"
    if content is not None:
        file.write_text(content)
    report = checked(written(GLSL % ("", "")), "--baseline", str(file))
    assert report["code"] == 2
    assert message in report["error"]
    if content is not None:
        assert checked(written(GLSL % ("", "")), "--save-baseline", str(file))["code"] == 2
        assert file.read_text() == content


def test_files_for_other_programs_list_what_is_allowed(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    shader = written(GLSL % (ALLOW, ""))
    junit, sarif = tmp_path / "junit.xml", tmp_path / "x.sarif"
    assert checked(shader, "--junit", str(junit), "--sarif", str(sarif))["code"] == 0
    case = ElementTree.parse(junit).find(".//testcase")
    assert case is not None
    assert [element.tag for element in case] == ["system-out"]
    assert f"allowed: differs at {shader}:8: the sum" in (case[0].text or "")
    (run,) = json.loads(sarif.read_text())["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "justification": "the sum of a subgroup is what it shows"}
    ]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 8
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(FINDING_KINDS)


def test_errors_are_in_the_files_too(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    junit, sarif = tmp_path / "junit.xml", tmp_path / "x.sarif"
    assert (
        checked(written("#version 460\nno shader"), "--junit", str(junit), "--sarif", str(sarif))["code"] == 2
    )
    assert ElementTree.parse(junit).find(".//testcase/error") is not None
    (run,) = json.loads(sarif.read_text())["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert "does not compile" in notification["message"]["text"]
    assert notification["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_an_error_replaces_earlier_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, written: Write
) -> None:
    monkeypatch.chdir(tmp_path)
    written("#version 460\nno shader", "a.comp")
    files = [tmp_path / name for name in ("x.json", "x.xml", "x.sarif")]
    words = ["check", "a.comp", "--device", "none"]
    for option, file in zip(("--json", "--junit", "--sarif"), files, strict=True):
        file.write_text("old")
        words += [option, str(file)]
    assert main([*words, "--annotations", "github"]) == 2
    assert ",file=a.comp,line=2::" in capsys.readouterr().out
    (entry,) = json.loads(files[0].read_text())["configurations"]
    assert (entry["outcome"], entry["exit_code"], entry["report"]) == ("does not compile", 2, None)
    assert main([*words, "--annotations", "gitlab"]) == 2
    (quality,) = json.loads((tmp_path / "gl-code-quality-report.json").read_text())
    assert quality["location"] == {"path": "a.comp", "lines": {"begin": 2}}
    # An error before the check leaves no file of an earlier one.
    assert main([*words, "--with", "absent.toml"]) == 2
    assert [file for file in files if file.exists()] == []


def test_a_bisection_skips_what_has_no_verdict(tmp_path: Path, written: Write) -> None:
    def code(shader: Path, *words: str) -> int:
        return main(["check", str(shader), "--device", "none", "--bisect", *words])

    unreached = GLSL.replace("%s\n    b", "if (a[0] * 2654435761u == 12345u) b[1] = 1u; %s\n    b")
    assert code(written(GLSL % ("", ""))) == 1
    assert code(written(GLSL % (ALLOW, ""))) == 0
    assert code(written("no shader")) == 125
    assert code(tmp_path / "absent.comp") == 125
    assert (
        code(
            written(unreached % ("", ALLOW)),
        )
        == 125
    )
    assert main(["check", str(written(unreached % ("", ALLOW))), "--device", "none"]) == 0
    with pytest.raises(SystemExit) as end:
        code(tmp_path, "--nonsense")
    assert end.value.code == 125


PAGES = sorted(kinds().glob("*.md"))


def test_every_kind_has_a_page() -> None:
    assert {page.stem for page in PAGES} == {kind.value for kind in FindingKind} == set(FINDING_KINDS)


@pytest.mark.usefixtures("tint")  # for the current glslang beside it
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_of_a_kind_has_a_wrong_and_a_right_shader(
    page: Path, written: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text()
    shaders = dict(re.findall(r"```glsl (\w+)\.comp\n(.*?)```", text, re.DOTALL))
    if page.stem != "compile":  # whose findings are of drivers
        wrong = check(written(shaders["wrong"]))
        assert [finding.kind for finding in wrong.findings] == [page.stem]
        assert not wrong.questions
        right = check(written(shaders["right"]))
        assert not right.findings
        assert not right.questions
        assert not right.gaps
    kind = FindingKind(page.stem)
    assert text.startswith(f"# {kind}: {kind.headline}\n")
    assert kind.help
    assert main(["explain", page.stem]) == 0
    assert capsys.readouterr().out == text


HIDDEN = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
shared uint part[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    part[t] = a[t];
    %s
    b[gl_GlobalInvocationID.x] = part[63u - t] + subgroupAdd(t); // vkgroup: allow(differs): by size
}
"""


def test_what_an_error_hides_is_not_called_unneeded(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    racy = checked(written(HIDDEN % ""))
    assert {finding["kind"] for finding in racy["findings"]} == {"race"}
    assert racy["unused_allowances"] == []
    assert "not needed" not in racy["text"]
    assert checked(written(HIDDEN % "barrier();"))["code"] == 0
    # A race that is allowed leaves nothing to compare, and the line says so.
    allowed = (HIDDEN % "").replace("vkgroup: allow(differs): by size", "vkgroup: allow(race): tried")
    report = checked(written(allowed))
    assert "no number of the outputs was compared, since the errors that are allowed" in report["text"]


def test_a_selection_leaves_the_rest_of_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: Write
) -> None:
    written((GLSL % ("", "")).replace("subgroupAdd(", "OPERATION("), "a.comp")
    entries = [
        {"name": "sum", "shader": "a.comp", "defines": {"OPERATION": "subgroupAdd"}},
        {"name": "copy", "shader": "a.comp", "defines": {"OPERATION": "uint"}},
    ]
    configuration, known = tmp_path / "all.json", tmp_path / "known.json"
    configuration.write_text(json.dumps({"configurations": entries}))
    words = ["check", "--with", str(configuration), "--device", "none"]
    assert main([*words, "--save-baseline", str(known)]) == 1
    before = json.loads(known.read_text())["allow"]
    assert len(before) == 1
    updated = ["--baseline", str(known), "--save-baseline", str(known)]
    assert main([*words, "--configuration", "copy", *updated]) == 0
    assert json.loads(known.read_text())["allow"] == before
    assert "not needed" not in capsys.readouterr().out
    assert main([*words, *updated]) == 0
    assert json.loads(known.read_text())["allow"] == before


def test_a_file_is_named_from_the_configuration_or_by_the_end_of_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: Write
) -> None:
    (tmp_path / "shaders").mkdir()
    shader = written(GLSL % ("", ""), "shaders/a.comp")
    for file, code in {"a.comp": 0, "shaders/a.comp": 0, "ders/a.comp": 1, "all.json": 1}.items():
        allow = [{"kind": "differs", "line": 8, "reason": "x", "file": file}]
        (tmp_path / "all.json").write_text(json.dumps({"allow": allow}))
        words = ["--with", str(tmp_path / "all.json"), "--device", "none"]
        assert main(["check", str(shader), *words]) == code
        assert ("not needed by this check" in capsys.readouterr().out) == bool(code)


def test_a_chosen_configuration_judges_the_allowances_of_its_shader(tmp_path: Path, written: Write) -> None:
    entries = [{"shader": "a.comp", "name": "a"}, {"shader": "b.comp", "name": "b"}]
    (tmp_path / "all.json").write_text(json.dumps({"configurations": entries}))
    known = tmp_path / "known.json"
    for name in ("a.comp", "b.comp"):
        written(GLSL % ("", ""), name)
    words = ["check", "--with", str(tmp_path / "all.json"), "--device", "none", "--save-baseline", str(known)]
    assert main(words) == 1
    assert [entry["file"] for entry in json.loads(known.read_text())["allow"]] == ["a.comp", "b.comp"]
    written((GLSL % ("", "")).replace("subgroupAdd", ""), "a.comp")
    assert main([*words, "--configuration", "a", "--baseline", str(known)]) == 0
    assert [entry["file"] for entry in json.loads(known.read_text())["allow"]] == ["b.comp"]


def test_an_allowance_in_another_line_says_where_the_finding_is(
    checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    shader = written((GLSL % ("", "")).replace("void main() {", f"{ALLOW}\nvoid main() {{"))
    report = checked(shader)
    assert "a finding of this kind is in line 9" in report["text"]


def test_saving_without_a_baseline_keeps_what_the_file_has(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    file = tmp_path / "known.json"
    entry = {"kind": "race", "line": "elsewhere();", "reason": "see issue 8"}
    file.write_text(json.dumps({"allow": [entry]}))
    assert checked(written(GLSL % ("", "")), "--save-baseline", str(file))["code"] == 1
    saved = json.loads(file.read_text())["allow"]
    assert {**entry, "file": ""} in saved
    assert len(saved) == 2
    # An entry without a file is for every file, and stays as it is.
    assert (
        checked(written(GLSL % ("", "")), "--baseline", str(file), "--save-baseline", str(file))["code"] == 0
    )
    assert [entry["kind"] for entry in json.loads(file.read_text())["allow"]] == ["differs"]


TWO_OUTPUTS = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    a[i] = gl_SubgroupSize; // vkgroup: allow(differs): shows the size
    if (i > 0u)
        a[i] = subgroupAdd(i);
    b[i] = gl_SubgroupSize;
}
"""


def test_an_allowed_difference_hides_no_other(checked: Callable[..., dict[str, Any]], written: Write) -> None:
    report = checked(written(TWO_OUTPUTS))
    assert report["code"] == 1
    assert ("differs", 10) in _found(report)
    assert {entry["finding"]["place"]["line"] for entry in report["allowed"]} == {8}
    comment = " // vkgroup: allow(differs): the same"
    both = TWO_OUTPUTS.replace("subgroupAdd(i);", f"subgroupAdd(i);{comment}")
    assert ("differs", 11) in _found(checked(written(both), "--lanes", "linear"))
    whole = both.replace("b[i] = gl_SubgroupSize;", f"b[i] = gl_SubgroupSize;{comment}")
    report = checked(written(whole), "--lanes", "linear")
    assert report["code"] == 0
    assert report["unused_allowances"] == []
    assert any("were not looked at" in note for note in report["covered"]["notes"])


@pytest.mark.usefixtures("swiftshader")
def test_an_error_of_a_driver_is_never_allowed(
    checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    text = """#version 460
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer A { uint a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    // vkgroup: allow(differs): a vote depends on its subgroup
    a[i] = uint(subgroupAllEqual(uvec2(7u, i / 6u)));
}
"""
    # SwiftShader compares only the first components (docs/results/swiftshader.md).
    report = checked(written(text), "--full-subgroups", "--lanes", "linear", devices=("swiftshader",))
    assert report["code"] == 1
    (finding,) = report["findings"]
    assert finding["devices"]
    assert "between the reference device and a real one" in finding["message"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--sarif a.comp", "--sarif a.comp would replace a.comp, which the check reads"),
        ("--json other.comp", "--json other.comp would replace other.comp, which has the name of a shader"),
        ("--with c.json --junit c.json", "--junit c.json would replace c.json, which the check reads"),
        ("--json x.json --sarif x.json", "--sarif x.json would replace x.json, which --json writes"),
        ("--save-baseline c.json", "c.json is a configuration, no baseline"),
        ("--baseline c.json", "c.json is a configuration, no baseline"),
    ],
)
def test_files_of_results_replace_nothing_else(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    checked: Callable[..., dict[str, Any]],
    written: Write,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(GLSL % ("", ""), "a.comp")
    (tmp_path / "c.json").write_text('{"groups": 4}')
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    assert main(["check", "a.comp", "--device", "none", *words.split()]) == 2
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_narrow_check_leaves_a_baseline(
    tmp_path: Path, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    shader, file = written(GLSL % ("", "")), tmp_path / "known.json"
    assert checked(shader, "--save-baseline", str(file))["code"] == 1
    before = file.read_text()
    files = ("--baseline", str(file), "--save-baseline", str(file))
    narrow = ("--subgroup-size", "8", "--lanes", "linear", "--full-subgroups", *files)
    report = checked(shader, *narrow)
    assert report["code"] == 0
    assert "not needed" not in report["text"]
    assert file.read_text() == before


@pytest.mark.parametrize("comment", ["// vkgroup: see https://example.org/x", "// of vkgroup's users"])
def test_remarks_are_no_allowances(
    comment: str, checked: Callable[..., dict[str, Any]], written: Write
) -> None:
    assert _found(checked(written(GLSL % (comment, "")))) == [("differs", 8)]

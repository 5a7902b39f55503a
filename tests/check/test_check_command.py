"""The command: exit codes, what it prints, its JSON, and that the command it names repeats a finding."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.compiler import disassemble
from vkgroup.spirv import Module

_WRONG, _RIGHT = Path(__file__).parent / "wrong", Path(__file__).parent / "right"


def test_a_finding_is_quoted_as_compilers_do(checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_WRONG)
    report = checked(Path("reversal_without_a_barrier.comp"), "--subgroup-size", "8,32")
    assert report["code"] == 1
    assert report["text"].split("\n")[:10] == [
        "race: an invocation reads memory of mirror that another one accesses unsynchronized",
        "  --> reversal_without_a_barrier.comp:10",
        "10 |     data[base + t] = mirror[t]; // expect: race",
        "   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        " 9 |     mirror[63u - t] = data[base + t];",
        "   |     --------------------------------- the other access by invocation (63, 0, 0) of workgroup"
        " (0, 0, 0)",
        "   = rule: if two invocations access the same memory and one writes, a barrier or atomics must"
        " order them",
        "   = seen at subgroup size 8 and 32, lanes in order or shuffled",
        "   = for example invocation (0, 0, 0) of workgroup (0, 0, 0): lane 0 of subgroup 0 (at size 32)",
        "   = repeat: vkgroup check reversal_without_a_barrier.comp --subgroup-size 8,32 --device none",
    ]
    assert "1 finding" in report["text"]


def test_a_clean_shader_says_what_was_covered(checked) -> None:
    file = _RIGHT / "wide_sums.comp"
    report = checked(file)
    assert report["code"] == 0
    assert report["text"].split("\n")[:3] == [
        f"{file}: nothing found",
        "  ran at subgroup size 1, 4, 8, 16, 32, 64 and 128, lanes in order or shuffled",
        f"  compiled by {report['covered']['compiler']}",
    ]


@pytest.mark.parametrize(
    "name", ["total_from_lane_thirty_one", "exclusive_scan_by_hand", "butterfly_in_the_guard"]
)
def test_the_command_of_a_finding_shows_it_again(
    name: str, checked, capsys: pytest.CaptureFixture[str]
) -> None:
    (finding,) = checked(_WRONG / f"{name}.comp")["findings"]
    words = shlex.split(finding["command"])
    assert words[:2] == ["vkgroup", "check"]
    assert main([*words[1:], "--json", "-"]) == 1
    (again,) = json.loads(capsys.readouterr().out)["findings"]
    for key in ("kind", "message", "place", "element"):
        assert again[key] == finding[key]


def test_options_are_part_of_the_repeated_command(checked, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(512, np.uint32))
    given = f"source={tmp_path / 'x.npy'}"
    options = ["--in", given, "--push", "n=300", "--groups", "4", "--seed", "7", "-D", "A=1"]
    report = checked(_WRONG / "butterfly_in_the_guard.comp", *options, "--subgroup-size", "16")
    (finding,) = report["findings"]
    words = shlex.split(finding["command"])
    assert words[3:] == [
        *("-D", "A=1", "--in", given, "--push", "n=300", "--groups", "4", "--seed", "7"),
        *("--subgroup-size", "16", "--device", "none"),
    ]
    assert "source: given" in report["covered"]["inputs"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nowhere.comp", "cannot be read"),
        ("a.comp --in b=nowhere.npy", "nowhere.npy cannot be read"),
        ("a.comp --out c", "no binding 'c'"),
        ("a.comp --push n=1", "declares none"),
        ("a.comp --spec n=1", "no specialization constant 'n'. There are: none."),
        ("a.comp --groups 0", "numbers of at least 1"),
        ("a.comp --groups x", "numbers of at least 1"),
        ("a.comp --groups 999999,999999", "at most 4194304"),
        ("p.comp --push m=1", "no member 'm'"),
        ("p.comp --push n=1,2", "takes one number (uint32)"),
        ("p.comp --push n=-1", "takes one number (uint32)"),
        ("p.comp --push n=x", "neither a number"),
        ("a.comp --seed x", "not a nonnegative integer"),
        ("a.comp --timeout 0", "positive number of seconds"),
        ("a.comp --step-limit 0", "must be at least 1"),
        ("a.comp --json nowhere/a.json", "cannot be written"),
        ("a.comp --bogus", "unrecognized arguments"),
        ("a.comp --entry-point other --optimize size --step-limit 3 --groups 1,1,1,1", "one to three"),
        ("a.comp --subgroup-size 3", "powers of two"),
        ("a.comp --subgroup-size 256", "from 1 to 128"),
    ],
)
def test_bad_input_ends_with_2(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.comp").write_text(
        "#version 460\nlayout(local_size_x = 4) in;\nlayout(binding = 0) buffer B { uint b[]; };\n"
        "void main() { b[gl_GlobalInvocationID.x] = 1u; }\n"
    )
    push = Path("a.comp").read_text().replace("= 1u", "= n")
    Path("p.comp").write_text(push.replace("void", "layout(push_constant) uniform P { uint n; };\nvoid"))
    try:
        code = main(["check", *words.split(), "--device", "none"])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_the_help_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["check", "--help"])
    assert left.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in (
        "run it on the reference device at every subgroup size",
        "where it runs:",
        "inputs: Inputs that are not given are generated.",
        "(default: 300)",
    ):
        assert words in text


_KEYS = (
    "shader",
    "findings",
    "questions",
    "covered",
    "no_verdict",
    "internal_errors",
    "compilations",
    "barriers",
)
_SCHEMA = re.compile(r"^\| `([a-z_.\[\]]+)` \|", re.MULTILINE)


def _paths(value: object, path: str = "") -> set[str]:
    """Return the names of all fields in JSON, as the documentation writes them."""
    if isinstance(value, list):
        return set().union(*(_paths(entry, path + "[]") for entry in value))
    if not isinstance(value, dict):
        return set()
    found = set()
    for name, inner in value.items():
        inside = f"{path}.{name}" if path else name
        found |= {inside} | _paths(inner, inside)
    return found


def test_every_field_of_the_json_is_documented(checked) -> None:
    text = (Path(__file__).parents[2] / "docs/shaders/testing.md").read_text()
    (section,) = re.findall(r"^## JSON of a check$(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    documented = set(_SCHEMA.findall(section))
    found = set()
    names = ("exclusive_scan_by_hand", "butterfly_in_the_guard", "lanes_in_order", "partials_by_warp")
    for name in (*names, "one_past_the_end"):
        report = checked(_WRONG / f"{name}.comp", "--barriers")
        for question in report["questions"]:
            # The findings of questions have the fields of findings; those of values stand in one row.
            (row,) = (line for line in text.splitlines() if line.startswith("| `questions[].values`"))
            named = set(row.replace(",", " ").split())
            assert {f"`{name}`" for value in question["values"] for name in value} <= named
            question["findings"] = question["values"] = []
        found |= _paths({key: report[key] for key in _KEYS})
    places = {"file", "line", "column", "text", "position"}
    runs = {"subgroup_size", "shuffled", "device", "choice", "required", "options", "model"}
    inner = {
        path
        for path in found
        if path.rsplit(".", 1)[-1] in (places | runs | {"workgroup", "local", "subgroup", "lane", "number"})
        and path.count(".") > 0
    }
    assert found - inner <= documented
    assert documented - found == set()


def test_a_module_without_lines_is_shown_in_assembly(checked, tmp_path: Path) -> None:
    source = _WRONG / "two_writers_of_a_cell.comp"
    file = tmp_path / "plain.spv"
    assert main(["compile", str(source), "--target", "1.2", "-o", str(file)]) == 0
    text = disassemble(Module.from_bytes(file.read_bytes()), friendly_names=False)
    (tmp_path / "plain.spvasm").write_text(text)
    for name in ("plain.spv", "plain.spvasm"):
        (finding,) = checked(tmp_path / name)["findings"]
        assert finding["kind"] == "race"
        assert finding["place"]["line"] == 0
        assert finding["place"]["text"].startswith("OpStore")


def test_hlsl_is_checked_at_its_lines(checked, written: Callable[..., Path]) -> None:
    file = written(
        "RWStructuredBuffer<uint> values : register(u0);\n"
        "groupshared uint slot[32];\n"
        "[numthreads(32, 1, 1)]\n"
        "void main(uint t : SV_GroupIndex, uint3 i : SV_DispatchThreadID) {\n"
        "    slot[t] = values[i.x];\n"
        "    values[i.x] = slot[31 - t];\n"
        "}\n",
        "turn.comp.hlsl",
    )
    (finding,) = checked(file)["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("race", 6)


def test_elements_of_hlsl_go_by_their_buffer(checked, written: Callable[..., Path]) -> None:
    file = written(
        "RWStructuredBuffer<uint> first : register(u0);\n"
        "RWStructuredBuffer<uint> second : register(u1);\n"
        "[numthreads(8, 1, 1)]\n"
        "void main(uint3 i : SV_DispatchThreadID) {\n"
        "    second[i.x] = first[i.x] + WaveGetLaneCount();\n"
        "}\n",
        "sizes.comp.hlsl",
    )
    report = checked(file)
    assert {finding["element"] for finding in report["findings"]} == {"second[0]"}
    assert {"first: first[] random", "second: second[] random"} <= set(report["covered"]["inputs"])


_POINTS = """#version 460
layout(local_size_x = 16) in;
layout(binding = 0) readonly buffer Points {{ uint points[]; }};
layout(binding = 1) writeonly buffer Sums {{ uint sums[]; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    uint a = points[3u * i + {first}u];
    uint b = points[3u * i + {second}u];
    sums[i] = a + b;
}}
"""


def test_arrays_are_made_as_long_as_the_shader_reaches(checked, written: Callable[..., Path]) -> None:
    report = checked(written(_POINTS.format(first=0, second=2)))
    assert report["findings"] == []
    assert "Points: points[] random, 3 for each invocation" in report["covered"]["inputs"]


def test_a_buffer_that_is_too_small_is_one_finding(checked, written: Callable[..., Path]) -> None:
    file = written(_POINTS.format(first=3, second=4))
    (question,) = checked(file)["questions"]
    assert question["text"].startswith("can your host pass points.length() = 192? ")
    np.save(file.parent / "points.npy", np.arange(192, dtype=np.uint32))
    report = checked(file, "--in", f"Points={file.parent / 'points.npy'}")
    assert report["questions"] == []
    for finding in (*report["findings"], *question["findings"]):
        assert (finding["kind"], finding["place"]["line"]) == ("bounds", 7)
        assert [(note["message"], note["place"]["line"]) for note in finding["notes"] if note["place"]] == [
            ("also out of bounds", 8)
        ]
    np.save(file.parent / "points.npy", np.arange(200, dtype=np.uint32))
    report = checked(file, "--in", f"Points={file.parent / 'points.npy'}")
    assert (report["findings"], report["questions"]) == ([], [])

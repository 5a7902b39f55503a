"""``--trace`` and ``--lanes``: what they write and print, and what they refuse."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.outputs.trace.data import plain

FRAGMENT = Path(__file__).parents[1] / "check/right_fragments"

SHADER = """#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 8) in;
struct Item { vec2 at; uint kind; };
layout(std430, binding = 0) buffer Items { uint count; Item items[]; };
layout(binding = 1, r32ui) uniform uimage2D marks;
shared float parts[2][4];
void main() {
    uint i = gl_LocalInvocationIndex;
    parts[i / 4u][i % 4u] = items[i].at.y;
    barrier();
    items[i].kind = subgroupBallot(parts[0][i % 4u] > 2.0).x;
    imageStore(marks, ivec2(i % 4u, i / 4u), uvec4(i));
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.comp").write_text(SHADER)
    np.save("items.npy", np.arange(24, dtype=np.float32).view(np.uint8))
    np.save("marks.npy", np.zeros((2, 4), np.uint32))
    return tmp_path


def data_of(file: str) -> dict[str, Any]:
    """Return the data of a page, with its block unpacked."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', Path(file).read_text("utf-8")
    )
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return {**data, "block": zlib.decompress(base64.b64decode(data["block"]))}


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 2
    return capsys.readouterr().err


def test_names_of_values_and_elements_are_those_of_the_source() -> None:
    # A block of a count and items of 16 bytes: 8 + 8 * 16 bytes.
    np.save("block.npy", np.zeros(8 + 8 * 16, np.uint8))
    code = main(["check", "a.comp", "--device", "none", "--subgroup-size", "8", "--trace", "t.html"])
    assert code in (0, 1)
    data = data_of("t.html")
    names = set(data["names"].values())
    assert {"i", "parts[…][…]", "items[i].at.y", "items[i].kind", "parts[0][…]"} <= names
    (trace,) = data["traces"]
    memories = {memory["name"]: memory for memory in trace["memories"]}
    assert memories["parts"]["kind"] == "shared memory"
    indices = [(row, column) for row in range(2) for column in range(4)]
    assert memories["parts"]["elements"] == [f"parts[{row}][{column}]" for row, column in indices]
    wanted = [f"items[{number}].{member}" for number in range(8) for member in ("at[1]", "kind")]
    assert memories["Items"]["elements"] == wanted
    assert memories["marks"]["elements"] == [f"[{x}, {y}, 0]" for y in range(2) for x in range(4)]
    assert {file["name"] for file in data["files"]} == {"a.comp", "SPIR-V"}


HLSL = """RWStructuredBuffer<uint> sums;
groupshared uint parts[16];
[numthreads(16, 1, 1)]
void main(uint t : SV_GroupIndex)
{
    parts[t] = t;
    sums[t] = parts[15 - t];
}
"""

WGSL = """@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
var<workgroup> parts: array<u32, 16>;
@compute @workgroup_size(16)
fn main(@builtin(local_invocation_index) t: u32)
{
    parts[t] = t;
    sums[t] = parts[15 - t];
}
"""


@pytest.mark.parametrize(("name", "source"), [("a.hlsl", HLSL), ("a.wgsl", WGSL)])
@pytest.mark.usefixtures("tint")
def test_lines_are_those_of_other_languages(name: str, source: str) -> None:
    Path(name).write_text(source)
    shader = ["check", name, "--stage", "compute", "--device", "none", "--subgroup-size", "8"]
    assert main([*shader, "--trace", "t.html"]) == 1
    data = data_of("t.html")
    (trace,) = [each for each in data["traces"] if each["title"] == "race"]
    rows = [data["places"][str(trace[side])] for side in ("position", "other")]
    lines = {data["files"][file]["numbers"][row] for file, row, _ in rows}
    assert lines == {6, 7}
    assert all(file < len(data["files"]) - 1 for file, _, _ in rows)
    classes = {piece[0] for line in data["files"][0]["lines"] for piece in line}
    assert {"keyword", "number"} & classes


def test_a_difference_has_a_trace_of_each_of_two_runs() -> None:
    Path("b.comp").write_text(
        "#version 460\n#extension GL_KHR_shader_subgroup_arithmetic : require\n"
        "layout(local_size_x = 16) in;\nlayout(binding = 0) buffer Sums { uint sums[]; };\n"
        "void main() { sums[gl_LocalInvocationIndex] = subgroupAdd(1u); }\n"
    )
    assert main(["check", "b.comp", "--device", "none", "--subgroup-size", "4,8", "--trace", "t.html"]) == 1
    first, second = data_of("t.html")["traces"]
    assert {first["title"], second["title"]} == {"differs"}
    assert {first["size"], second["size"]} == {4, 8}
    assert first["message"] != second["message"]


RUN = ("run", "a.comp", "--groups", "1", "--in", "Items=items.npy", "--in", "marks=marks.npy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--trace", "t.html"), "--trace: only on the reference device"),
        (("--lanes", "--device", "swiftshader"), "--lanes: only on the reference device"),
        (("--device", "reference", "--trace", "none/t.html"), "there is no folder none"),
        (("--device", "reference", "--workgroup", "0"), "--workgroup: only with --trace"),
        (("--device", "reference", "--lanes", "--workgroup", "0,1"), "the dispatch has 1 x 1 x 1 workgroups"),
        (("--device", "reference:8", "--lanes", "1"), "the workgroup has 1 subgroups"),
    ],
)
def test_what_cannot_be_observed_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in error_of(capsys, *RUN, *words)
    assert not Path("t.html").exists()


def test_a_check_of_a_fragment_shader_or_of_several_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    shader = str(next(FRAGMENT.glob("*.frag")))
    assert "--trace" in error_of(capsys, "check", shader, "--device", "none", "--trace", "t.html")
    assert "--trace: only for one shader" in error_of(
        capsys, "check", "a.comp", "a.comp", "--trace", "t.html"
    )
    assert "would replace" in error_of(capsys, "check", "a.comp", "--trace", "a.comp")


def test_a_run_shows_its_errors(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.comp").write_text(SHADER.replace("    barrier();\n", ""))
    words = ["run", "c.comp", *RUN[2:], "--device", "reference:8", "--trace", "t.html"]
    assert main(words) == 0
    assert "; errors: bounds, race" in capsys.readouterr().err
    (trace,) = [each for each in data_of("t.html")["traces"] if each["title"] == "race"]
    assert trace["steps"][trace["focus"]][1] == trace["position"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--trace", "a.comp"), "--trace a.comp would replace a.comp"),
        (
            ("--trace", "items.npy"),
            "--trace items.npy would replace items.npy, which the run",
        ),
        (("--out", "marks=new.npy", "--trace", "new.npy"), "--trace new.npy would replace new.npy"),
        (("--groups", "0", "--lanes"), "the dispatch has no workgroups"),
    ],
)
def test_a_run_replaces_nothing_and_needs_a_workgroup(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in error_of(capsys, *RUN, "--device", "reference", *words)
    assert Path("a.comp").read_text() == SHADER


def test_a_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    assert "--trace: only for a shader" in error_of(capsys, "run", "folder", "--trace", "t.html")


BODY = """#version 460
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
shared uint parts[8];
"""
ALONE = ("--groups", "1", "--out", "Sums=uint[8]:s.npy", "--device", "reference:4", "--trace", "t.html")


def test_two_races_of_one_instruction_have_their_own_accesses() -> None:
    Path("two.comp").write_text(
        BODY
        + """void main() {
    uint t = gl_LocalInvocationIndex;
    if (t < 4u) parts[t] = t;
    else parts[t] = 2u;
    sums[t] = parts[(t + 4u) % 8u];
}
"""
    )
    assert main(["run", "two.comp", *ALONE]) == 0
    traces = data_of("t.html")["traces"]
    others = [trace["other"] for trace in traces if trace["title"] == "race"]
    assert len(others) == len(set(others)) == 2
    assert [marked[1][0] for trace in traces if (marked := trace["marked"])] == others


def test_a_loop_that_does_not_end_leads_to_the_loop() -> None:
    Path("hang.comp").write_text(
        BODY
        + """void main() {
    uint t = gl_LocalInvocationIndex, k = 0u;
    if (t == 4u) {
        while (k != 1u) k += 2u;
    }
    sums[t] = k;
}
"""
    )
    assert main(["check", "hang.comp", "--device", "none", "--subgroup-size", "4", "--trace", "t.html"]) == 1
    (trace,) = [each for each in data_of("t.html")["traces"] if each["title"] == "hang"]
    (step,) = [step for step in trace["steps"] if step[0] == trace["focus"]]
    file, row, _ = data_of("t.html")["places"][str(step[1])]
    assert data_of("t.html")["files"][file]["numbers"][row] == 8


def test_variables_of_one_name_are_told_apart_by_their_lines() -> None:
    Path("names.comp").write_text(
        BODY
        + """uint other() {
    uint i = 100u;
    return i;
}
void main() {
    uint i = gl_LocalInvocationIndex;
    sums[i] = other();
}
"""
    )
    assert main(["run", "names.comp", *ALONE]) == 0
    assert {"i of line 6", "i of line 10"} <= set(data_of("t.html")["names"].values())


def test_what_other_workgroups_do_at_last_is_left_out() -> None:
    Path("after.comp").write_text(
        BODY
        + """void main() {
    if (gl_WorkGroupID.x == 1u) {
        for (uint k = 0u; k < 9u; ++k) atomicAdd(sums[0], 1u);
        return;
    }
    sums[gl_LocalInvocationIndex] = 1u;
}
"""
    )
    assert main(["run", "after.comp", *ALONE[2:], "--groups", "2", "--workgroup", "0"]) == 0
    (trace,) = data_of("t.html")["traces"]
    assert trace["steps"][-1][0] + 1 == trace["total"]


def test_numbers_of_sixteen_bits_are_floats_for_the_page() -> None:
    values = np.array([0.5, -2.0], np.float16)
    name, numbers = plain(values)
    assert (name, numbers.dtype, numbers.tolist()) == ("f32", np.float32, [0.5, -2.0])
    # The upper half of a float32.
    bfloat16 = (np.array([0.5, -2.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    assert plain(bfloat16.view("V2"))[1].tolist() == [0.5, -2.0]
    assert plain(np.array([-3], np.int8))[0] == "i32"
    assert plain(np.array([2**63], np.uint64))[0] == "u64"
    assert plain(np.array([True]))[0] == "bool"

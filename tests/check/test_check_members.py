"""Members of a block that are given singly: by --in, in a configuration, and in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.base.errors import VkgroupError
from vkgroup.check import CheckRequest, check
from vkgroup.check.outcome_cache import key
from vkgroup.cli.main import main
from vkgroup.testing import check_shader

_SHADER = """#version 460
layout(local_size_x = 64) in;
struct Inner { float scale; uint bias; };
layout(std140, binding = 0) uniform U { uint width; uint height; uint offsets[3]; Inner inner; } u;
layout(binding = 1) buffer B { uint start; uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < u.width) b[i] = start + u.offsets[1] / u.height + u.inner.bias;
}
"""


def _origin(report: dict[str, Any], name: str) -> str:
    (line,) = (line for line in report["covered"]["inputs"] if line.startswith(f"{name}: "))
    return str(line)


def test_members_are_given_and_the_others_generated(checked, written) -> None:
    words = ("--in", "u.width=29", "--in", "u.offsets=7,8,9", "--in", "u.inner.bias=4", "--in", "0.height=3")
    report = checked(written(_SHADER), "--subgroup-size", "32", *words)
    assert (report["code"], report["findings"]) == (0, [])
    origin = _origin(report, "u")
    for part in ("width = 29", "height = 3", "offsets = [7, 8, 9]", "inner.bias = 4"):
        assert part in origin
    assert "inner.scale" in origin


def test_a_given_member_is_not_questioned_and_stands_in_the_command(checked, written) -> None:
    report = checked(written(_SHADER), "--subgroup-size", "32", "--in", "u.height=0")
    (finding,) = report["findings"]
    assert finding["kind"] == "undefined"
    assert "--in u.height=0" in finding["command"]
    assert report["questions"] == []


def test_an_array_without_length_has_the_given_elements(checked, written) -> None:
    words = ("--in", "B.b=" + ",".join(["1"] * 64), "--in", "u.height=1")
    report = checked(written(_SHADER), "--subgroup-size", "32", *words, "--in", "u.width=65")
    assert [finding["kind"] for finding in report["findings"]] == ["bounds"]
    report = checked(written(_SHADER), "--subgroup-size", "32", *words, "--in", "u.width=64")
    assert report["findings"] == []


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("u.widht=3", "width"),
        ("v.width=3", "v.width"),
        ("u.width=a", "'a'"),
        ("u.offsets=1,2", "offsets"),
        ("u.width=-1", "width"),
    ],
)
def test_a_wrong_member_is_named(word: str, named: str, checked, written) -> None:
    report = checked(written(_SHADER), "--in", word)
    assert report["code"] == 2
    assert named in report["error"]


def test_a_member_is_given_once(checked, written, tmp_path: Path) -> None:
    file = written(_SHADER)
    assert checked(file, "--in", "u.width=3", "--in", "u.width=4")["code"] == 2
    np.save(tmp_path / "u.npy", np.zeros(80, np.uint8))
    assert checked(file, "--in", f"u={tmp_path / 'u.npy'}", "--in", "u.width=4")["code"] == 2


def test_a_configuration_gives_some_members(checked, written, tmp_path: Path) -> None:
    written(_SHADER)
    file = tmp_path / "c.json"
    inputs = {"u": {"width": 29, "inner": {"bias": 4}, "offsets": [7, 8, 9]}, "B": {"start": 5}}
    file.write_text(json.dumps({"shader": "shader.comp", "inputs": inputs}))
    report = checked(tmp_path / "shader.comp", "--with", str(file), "--in", "u.height=2")
    assert (report["code"], report["findings"]) == (0, [])
    origin = _origin(report, "u")
    assert all(part in origin for part in ("width = 29", "height = 2", "inner.bias = 4"))
    assert "start = 5" in _origin(report, "B")


def test_the_stored_outcome_is_that_of_the_members(written) -> None:
    file = written(_SHADER)
    values = [{"u": {"width": 29}}, {"u": {"width": 30}}, {"u": {"height": 29}}, {"u.width": 29}]
    first, *others, same = (key(CheckRequest(file, inputs=inputs)) for inputs in values)
    assert first == same
    assert first not in others


def test_run_needs_all_members(written, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader, file = written(_SHADER), tmp_path / "c.json"
    values = {"width": 29, "inner": {"bias": 4, "scale": 1}, "offsets": [7, 8, 9]}
    file.write_text(json.dumps({"groups": 1, "inputs": {"u": values, "B": {"start": 5, "b": 0}}}))
    assert main(["run", str(shader), "--with", str(file), "--device", "reference"]) == 2
    assert "'height' has no value" in capsys.readouterr().err


def test_saved_values_say_which_members_were_generated(checked, written, tmp_path: Path) -> None:
    file, saved = written(_SHADER), tmp_path / "saved.json"
    words = ("--subgroup-size", "32")
    first = checked(file, *words, "--in", "u.width=29", "--in", "u.height=2", "--save-with", str(saved))
    made = json.loads(saved.read_text())
    assert made["inputs"]["u"]["width"] == 29
    generated = {"inputs.B", "inputs.u.offsets", "inputs.u.inner.scale", "inputs.u.inner.bias"}
    assert made["generated"].keys() == generated
    again = checked(file, *words, "--with", str(saved))
    assert again["covered"]["inputs"] == first["covered"]["inputs"]
    made["inputs"]["u"]["inner"]["bias"] = 77
    saved.write_text(json.dumps(made))
    assert "inner.bias = 77" in _origin(checked(file, *words, "--with", str(saved)), "u")


@pytest.mark.parametrize(
    "inputs",
    [
        {"u": {"width": 29, "height": 2}},
        {"u.width": 29, "u.height": 2},
        {(0, 0): {"width": np.uint32(29)}, "u.height": 2},
    ],
)
def test_members_are_given_in_python(inputs: Any, written) -> None:
    file = written(_SHADER)
    (origin,) = (line for line in check(file, sizes=[32], inputs=inputs).covered.inputs if "width" in line)
    assert "width = 29, height = 2" in origin
    check_shader(file, sizes=[32], inputs=inputs)


def test_a_member_that_does_not_exist_is_refused_in_python(written) -> None:
    with pytest.raises(VkgroupError, match="width"):
        check(written(_SHADER), sizes=[32], inputs={"u": {"widht": 1}})


def test_a_question_names_the_option_of_the_member(checked, written) -> None:
    text = _SHADER.replace("u.width) b[i]", "u.width) b[i * u.height]")
    questions = checked(written(text), "--subgroup-size", "32")["questions"]
    options = {value["option"] for question in questions for value in question["values"]}
    assert all(option.startswith("--in u.") and option.endswith("=V") for option in options)


_HLSL = """struct Item { uint a; };
struct S { uint width; uint height; };
RWStructuredBuffer<uint> sums : register(u0);
StructuredBuffer<Item> items : register(t1);
ByteAddressBuffer raw : register(t2);
cbuffer Params : register(b4) { uint count; uint table[4]; };
ConstantBuffer<S> settings : register(b5);
uint loose;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    sums[id.x] = items[id.x].a + raw.Load(0) + count + settings.width + loose + table[1];
}
"""


@pytest.mark.parametrize("compiler", ["glslang", "dxc", "slang"])
def test_buffers_have_the_names_of_the_source(compiler: str, checked, written, tmp_path: Path) -> None:
    words = ("--compiler", compiler, "--subgroup-size", "32", "--in", "Params.table=1,2,3,4")
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"inputs": {"settings": {"width": 9}, "Params": {"count": 5}}}))
    file = written(_HLSL, "a.comp.hlsl")
    report = checked(
        file, *words, "--in", "loose=3", "--in", f"raw={','.join('12345678')}", "--with", str(config)
    )
    assert (report["code"], report["error"]) == (0, "")
    listed = " ".join(report["covered"]["inputs"])
    for part in (
        "sums[] random",
        "items[].a random",
        "raw: given",
        "settings: width = 9",
        "global variables",
    ):
        assert part in listed
    for word in ("@data", "__member0", "$Global", "globalParams", "type."):
        assert word not in listed
    error = checked(file, *words, "--in", "lose=3")["error"]
    assert "loose" in error
    assert "$Global" not in error
    assert "globalParams" not in error


@pytest.mark.parametrize("compiler", ["glslang", "dxc", "slang"])
def test_findings_name_buffers_as_the_source(compiler: str, checked, written) -> None:
    text = _HLSL.replace("sums[id.x] =", "sums[id.x] = WaveGetLaneIndex() +")
    report = checked(written(text, "a.comp.hlsl"), "--compiler", compiler, "--subgroup-size", "8,32")
    assert {finding["element"].split("[")[0] for finding in report["findings"]} == {"sums"}
    text = _HLSL.replace("sums[id.x] =", "sums[id.x + 1] =")
    report = checked(written(text, "a.comp.hlsl"), "--compiler", compiler, "--subgroup-size", "32")
    (question,) = report["questions"]
    assert [value["name"] for value in question["values"]] == ["sums.length()"]


@pytest.mark.parametrize(("compiler", "element"), [("glslang", "color 0[0]"), ("dxc", "SV_Target[0]")])
def test_a_color_output_has_the_name_of_the_source(compiler: str, element: str, checked, written) -> None:
    text = "float4 main(float4 p : SV_Position) : SV_Target { return (float4)WaveGetLaneIndex(); }"
    report = checked(written(text, "a.frag.hlsl"), "--compiler", compiler, "--subgroup-size", "8,32")
    (finding,) = report["findings"]
    assert finding["element"].startswith(element)

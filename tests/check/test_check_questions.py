"""Generated inputs that fit together, and questions about those that do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Written = Callable[..., Path]
Checked = Callable[..., dict[str, Any]]

_TRANSPOSE = """#version 460
layout(local_size_x = 16, local_size_y = 4) in;
layout(push_constant) uniform P { uint stride0; uint stride1; } p;
layout(std430, binding = 0) writeonly buffer B { uint b[]; };
void main() {
    uvec2 i = gl_GlobalInvocationID.xy;
    b[i.x * p.stride0 + i.y * p.stride1] = i.x + 1000u * i.y;
}
"""


def test_strides_are_chosen_so_that_rows_do_not_overlap(checked: Checked, written: Written) -> None:
    report = checked(written(_TRANSPOSE), "--subgroup-size", "4,32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    (finding,) = question["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("race", 7)
    (value,) = question["values"]
    assert value["name"] in ("stride0", "stride1")
    assert value["option"] == f"--push {value['name']}=V"
    assert question["text"] in report["text"]
    assert question["remedy"] in report["text"]
    assert report["covered"]["compared"] > 0


def test_an_index_beyond_an_array_with_a_length_is_no_question_about_the_buffer(
    checked: Checked, written: Written
) -> None:
    text = """#version 460
layout(local_size_x = 32) in;
layout(binding = 0) buffer B { uint few[8]; uint rest[]; };
void main() { few[gl_GlobalInvocationID.x] = 1u; rest[gl_GlobalInvocationID.x] = 2u; }
"""
    report = checked(written(text))
    (finding,) = report["findings"]
    assert (finding["kind"], report["questions"]) == ("bounds", [])
    assert "an array of 8 elements" in finding["message"]
    assert not any("was generated with" in note["message"] for note in finding["notes"])


def test_the_named_values_show_the_error_and_its_absence(checked: Checked, written: Written) -> None:
    """The values of a question are facts: given to the shader, they cause the error or avoid it."""
    file = written(_TRANSPOSE)
    (question,) = checked(file, "--subgroup-size", "32")["questions"]
    (value,) = question["values"]
    (other,) = {"stride0", "stride1"} - {value["name"]}
    default = {"stride0": 16, "stride1": 16}
    bad = {**default, value["name"]: value["value"], other: value["value"]}
    options = [word for name, number in bad.items() for word in ("--push", f"{name}={number}")]
    report = checked(file, "--subgroup-size", "32", *options)
    assert report["code"] == 1
    assert {finding["kind"] for finding in report["findings"]} == {"race"}
    assert report["questions"] == []
    report = checked(file, "--subgroup-size", "32", "--push", "stride0=64", "--push", "stride1=1")
    assert (report["code"], report["findings"], report["questions"]) == (0, [], [])


_TWO_RESULTS = """#version 460
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint s_off; uint stride; } p;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = a[i];
    for (uint k = 0; k < 4u; k++) b[p.s_off + i * p.stride + k] = a[i] * k;
}
"""


@pytest.mark.parametrize(("given", "code", "questions"), [((), 0, 1), (("s_off=0", "stride=4"), 1, 0)])
def test_an_offset_of_a_second_result_is_a_question(
    given: tuple[str, ...], code: int, questions: int, checked: Checked, written: Written
) -> None:
    options = [word for value in given for word in ("--push", value)]
    report = checked(written(_TWO_RESULTS), "--subgroup-size", "8,32", *options)
    assert (report["code"], len(report["questions"])) == (code, questions)
    for question in report["questions"]:
        assert "s_off" in [value["name"] for value in question["values"]]


def test_loop_bounds_stay_within_the_array(checked: Checked, written: Written) -> None:
    report = checked(
        written("""#version 460
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint taps; } p;
layout(std430, binding = 0) buffer B { float b[]; };
void main() {
    float window[4];
    for (uint k = 0; k < p.taps; k++) window[k] = b[gl_GlobalInvocationID.x] * float(k);
    b[gl_GlobalInvocationID.x] = p.taps > 0 ? window[0] : 0.0;
}
"""),
        *("--seed", "3", "--subgroup-size", "32"),
    )
    assert (report["code"], report["findings"]) == (0, [])
    for question in report["questions"]:
        assert {value["name"] for value in question["values"]} == {"taps"}


def test_an_array_is_as_long_as_the_accesses(checked: Checked, written: Written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint pitch; } p;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x * p.pitch + 4u]; }
"""
    report = checked(written(text), "--push", "pitch=5", "--subgroup-size", "32")
    assert (report["code"], report["findings"], report["questions"]) == (0, [], [])


def test_the_end_of_an_array_is_a_question(checked: Checked, written: Written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x + 1u]; }
"""
    report = checked(written(text), "--subgroup-size", "32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    (value,) = question["values"]
    assert value == {
        "name": "a.length()",
        "value": 256,
        "other": 257,
        "option": "--in A=FILE",
        "is_default": False,
    }


def test_a_divisor_that_the_host_specializes_is_a_question(checked: Checked, written: Written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(constant_id = 7) const uint elempack = 0;
layout(std430, binding = 0) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] /= elempack; }
"""
    file = written(text)
    report = checked(file, "--subgroup-size", "32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    (value,) = question["values"]
    assert (value["name"], value["value"], value["other"]) == ("elempack", 0, 1)
    assert (value["option"], value["is_default"]) == ("--spec 7=V", False)
    assert "elempack (id 7) = 1 was chosen: its default is 0." in report["covered"]["notes"]
    report = checked(file, "--subgroup-size", "32", "--spec", "7=0")
    assert report["code"] == 1
    assert [finding["kind"] for finding in report["findings"]] == ["undefined"]


def test_a_missing_barrier_is_an_error_whatever_the_counts_are(checked: Checked, written: Written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint columns; } p;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
shared float part[64];
void main() {
    uint t = gl_LocalInvocationID.x;
    part[t] = 0.0;
    for (uint c = t; c < p.columns; c += 64u) part[t] += a[gl_WorkGroupID.x * p.columns + c];
    b[gl_GlobalInvocationID.x] = part[t ^ 1u];
}
"""
    report = checked(written(text), "--subgroup-size", "32")
    assert report["code"] == 1
    assert [(finding["kind"], finding["place"]["line"]) for finding in report["findings"]] == [("race", 11)]
    assert report["questions"] == []


@pytest.mark.parametrize(
    "name", ["everybody_increments", "barrier_after_the_guard", "butterfly_in_the_guard"]
)
def test_errors_of_a_guarded_shader_are_no_questions(name: str, checked: Checked) -> None:
    """A guard says that the count may be smaller than the number of invocations."""
    report = checked(Path(__file__).parent / "wrong" / f"{name}.comp", "--subgroup-size", "8,32")
    assert report["code"] == 1
    assert report["questions"] == []


def test_the_same_inputs_are_chosen_again(checked: Checked, written: Written) -> None:
    file = written(_TRANSPOSE)
    first, again = (checked(file, "--subgroup-size", "32") for _ in range(2))
    assert first["covered"]["inputs"] == again["covered"]["inputs"]
    assert first["questions"] == again["questions"]


_TILE = """#version 460
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const uint TILE = 32;
layout(binding = 0) buffer B { uint b[]; };
shared uint tile[TILE];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = b[gl_GlobalInvocationID.x];
    barrier();
    b[gl_GlobalInvocationID.x] = tile[THREADS - 1u - i];
}
"""


def test_defaults_that_do_not_fit_are_a_question_if_the_host_sets_the_local_size(
    checked: Checked, written: Written
) -> None:
    file = written(_TILE)
    report = checked(file, "--subgroup-size", "4,32")
    assert (report["code"], report["findings"]) == (0, [])
    kinds = {finding["kind"] for question in report["questions"] for finding in question["findings"]}
    assert "bounds" in kinds
    for question in report["questions"]:
        (value,) = question["values"]
        assert value["is_default"]
        assert question["remedy"].startswith("default of the source; it does not happen with")
        assert value["option"] == f"--spec {value['name']}=V"
        assert checked(file, "--spec", f"{value['name']}={value['other']}")["code"] == 0
    assert checked(file, "--strict")["code"] == 1


def test_constants_that_are_given_are_not_questioned(checked: Checked, written: Written) -> None:
    file = written(_TILE)
    report = checked(file, "--subgroup-size", "32", "--spec", "THREADS=64", "--spec", "TILE=32")
    assert report["code"] == 1
    assert {finding["kind"] for finding in report["findings"]} >= {"bounds"}
    assert report["questions"] == []


def test_defaults_with_a_local_size_of_the_source_are_not_questioned(
    checked: Checked, written: Written
) -> None:
    file = written(_TILE.replace("local_size_x_id = 0", "local_size_x = 64"))
    report = checked(file, "--subgroup-size", "32")
    assert report["code"] == 1
    assert report["questions"] == []


def test_a_missing_barrier_is_an_error_with_all_constants(checked: Checked, written: Written) -> None:
    file = written(_TILE.replace("TILE = 32", "TILE = 64").replace("    barrier();\n", ""))
    report = checked(file, "--subgroup-size", "4,32")
    assert report["code"] == 1
    assert "race" in {finding["kind"] for finding in report["findings"]}


_MEASURED = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Source { uint source[]; };
layout(binding = 1) writeonly buffer Target { uint target[]; };
shared uint values[64];
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= source.length()) return;
    target[i] = source[i];
}
"""


def test_an_array_has_fewer_elements_than_invocations_if_its_length_is_read(
    checked: Checked, written: Written
) -> None:
    """Otherwise no invocation would ever return early."""
    report = checked(written(_MEASURED), "--subgroup-size", "32")
    assert (report["code"], report["findings"], report["questions"]) == (0, [], [])
    assert "source[] random, 253 elements" in report["text"]
    early = (
        "values[gl_LocalInvocationIndex] = i; barrier(); target[i] = values[63 - gl_LocalInvocationIndex];"
    )
    report = checked(written(_MEASURED.replace("target[i] = source[i];", early)), "--subgroup-size", "32")
    assert (report["code"], "barrier" in str(report["findings"])) == (1, True)
    report = checked(written(_MEASURED.replace(">=", ">")), "--subgroup-size", "32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    assert question["values"][0]["name"] == "source.length()"
    assert (question["values"][0]["value"], question["values"][0]["other"]) == (253, 256)


_SCATTER = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 256) in;
layout(push_constant) uniform P { uint num_elements; uint shift; };
layout(binding = 0) readonly buffer Keys { uint keys[]; };
layout(binding = 1) buffer Sorted { uint sorted[]; };
shared uint start[256];
void main() {
    uint l = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x;
    start[l] = gl_SubgroupID * 40u + (l & 7u);
    barrier();
    if (i < num_elements) sorted[start[(keys[i] >> shift) & 255u] + i] = keys[i];
}
"""


def test_a_place_has_one_question_with_values_and_sizes(checked: Checked, written: Written) -> None:
    report = checked(written(_SCATTER), "--subgroup-size", "1,8,16,32")
    lines = [
        {finding["place"]["line"] for finding in question["findings"]} for question in report["questions"]
    ]
    assert lines == [{12}]
    (question,) = report["questions"]
    assert "race" in {finding["kind"] for finding in question["findings"]} <= {"bounds", "race"}
    names = [value["name"] for value in question["values"]]
    assert len(names) == len(set(names))
    assert names
    assert all(value["value"] != value["other"] and value["option"] for value in question["values"])
    sizes = {size for finding in question["findings"] for size in finding["sizes"]}
    assert set(question["sizes"]) == sizes >= {8, 16}
    assert "= seen at subgroup size" in report["text"]


def test_a_question_of_a_trial_says_that_other_sizes_did_not_run(checked: Checked, written: Written) -> None:
    report = checked(written(_TRANSPOSE), "--subgroup-size", "4,32")
    (question,) = report["questions"]
    assert question["sizes"] == [32]
    assert "the only size at which these values ran" in report["text"]


_STATIC_OR_DYNAMIC = """#version 460
layout(constant_id = 0) const uint kind = 0;
layout(constant_id = 1) const uint fixed_width = 0;
layout(local_size_x = 16) in;
layout(push_constant) uniform P { uint width; } p;
layout(std430, binding = 0) writeonly buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, n = fixed_width == 0u ? p.width : fixed_width;
    if (i < n) b[i + 1u] = kind;
}
"""
"""As in ncnn: 0 says that the width is a push constant."""


def test_constants_keep_their_defaults_if_others_are_given(
    checked: Checked, written: Written, tmp_path: Path
) -> None:
    file, array = written(_STATIC_OR_DYNAMIC), tmp_path / "b.npy"
    np.save(array, np.zeros(40, np.uint32))
    options = ("--in", f"B={array}", "--push", "width=40", "--groups", "4", "--subgroup-size", "32")
    for further in (["--spec", "kind=3"], []):  # without constants, all other inputs are given
        report = checked(file, *options, *further)
        assert ([finding["kind"] for finding in report["findings"]], report["questions"]) == (["bounds"], [])
        assert "fixed_width (id 1) = 0" in report["text"]
        assert "was chosen" not in report["text"]
    report = checked(file, *options[:2], *options[4:])
    assert "fixed_width" in report["text"].partition("can your host pass")[2]

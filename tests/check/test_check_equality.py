"""`vkgroup equal`: the outputs of two compute shaders, or of one at two subgroup sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.cli.main import main

Written = Callable[..., Path]
Compared = Callable[..., dict[str, Any]]


@pytest.fixture
def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Compared:
    """Run ``vkgroup equal``; return its JSON with exit code and output."""

    def run(*words: object) -> dict[str, Any]:
        file = tmp_path / "equal.json"
        file.unlink(missing_ok=True)
        code = main(["equal", *map(str, words), "--json", str(file)])
        captured = capsys.readouterr()
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return {**found, "code": code, "text": captured.out, "error": captured.err}

    return run


_START = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
layout(binding = 2) buffer N { uint n; };
shared float part[64];
void main() {
uint i = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x; uint x = a[g];
"""


def _shader(written: Written, body: str, name: str = "a.comp", start: str = _START) -> Path:
    return written(f"{start}{body}\n}}\n", name)


_APPEND = (
    "uvec4 m = subgroupBallot({0}); uint at = 0u;\n"
    "if (subgroupElect()) at = atomicAdd(n, subgroupBallotBitCount(m));\n"
    "at = subgroupBroadcastFirst(at);\nif ({0}) b[at + subgroupBallotExclusiveBitCount(m)] = {1};"
)
#: The same, as a translator to subgroups of half the size writes it: two halves, one after the other.
_APPEND_BY_HALVES = (
    "for (uint half_ = 0u; half_ < 2u; half_++) {{ if ((i & 1u) != half_) continue;\n" + _APPEND + " }}"
)


def test_an_append_is_equal_in_any_order_at_two_sizes(compared: Compared, written: Written) -> None:
    wide = _shader(written, _APPEND.format("(x & 1u) != 0u", "x"))
    narrow = _shader(written, _APPEND_BY_HALVES.format("(x & 1u) != 0u", "x"), "b.comp")
    result = compared(wide, narrow, "--sizes", "64,32", "--unordered", "B")
    assert (result["code"], result["sizes"]) == (0, [[64, 32]])
    # The odd numbers of 256, and how many they are; nothing writes the rest of the list.
    assert 1 < result["counts"]["compared"] < 256
    assert "ordered" not in result["text"]


@pytest.mark.parametrize(
    ("condition", "value", "line"),
    [("(x & 1u) != 0u", "x | 256u", 15), ("(x & 3u) == 1u", "x", 13)],
)
def test_an_append_of_other_elements_is_different_with_the_line(
    compared: Compared, written: Written, condition: str, value: str, line: int
) -> None:
    wide = _shader(written, _APPEND.format("(x & 1u) != 0u", "x"))
    other = _shader(written, _APPEND.format(condition, value), "b.comp")
    result = compared(wide, other, "--sizes", "64,32", "--unordered", "B")
    assert (result["code"], result["difference"]["kind"]) == (1, "differs")
    assert result["difference"]["place"]["line"] == line
    assert "b.comp" in result["text"]


def test_elements_that_depend_on_order_are_not_compared_without_the_option(
    compared: Compared, written: Written
) -> None:
    wide = _shader(written, _APPEND.format("(x & 1u) != 0u", "x"))
    result = compared(wide, "--sizes", "64,32")
    assert (result["code"], result["counts"]["ordered"] > 64) == (0, True)
    assert "depend on the order of atomics" in result["text"]


def test_one_shader_at_two_sizes_shows_where_the_runs_part(compared: Compared, written: Written) -> None:
    shader = _shader(written, "uint s = subgroupAdd(x);\nb[g] = s;")
    result = compared(shader, "--sizes", "64,32")
    assert (result["code"], result["difference"]["place"]["line"]) == (1, 13)
    assert "the runs diverge here" in result["text"]
    same = _shader(written, "b[g] = subgroupShuffleXor(x, 1u);")
    assert compared(same, "--sizes", "64,32,2")["code"] == 0


_FLOATS = _START.replace("uint b[]", "float b[]")


def test_sums_of_floats_are_equal_within_the_rounding_of_both(compared: Compared, written: Written) -> None:
    by_subgroup = _shader(written, "b[g] = subgroupAdd(float(x) * 0.1);", start=_FLOATS)
    by_loop = (
        "part[i] = float(x) * 0.1; barrier(); float s = 0.0;\nfor (int k = 63; k >= 0; k--) s += part[k];"
    )
    shared = _shader(written, f"{by_loop}\nb[g] = s;", "b.comp", _FLOATS)
    result = compared(by_subgroup, shared, "--sizes", "64")
    assert (result["code"], result["counts"]["rounded"] > 0) == (0, True)
    more = _shader(written, f"{by_loop}\nb[g] = s * 1.001;", "c.comp", _FLOATS)
    assert compared(by_subgroup, more, "--sizes", "64")["code"] == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("binding = 1) buffer B", "binding = 3) buffer B", "is only in the first shader"),
        ("uint b[]", "uvec2 first; float b[]", ""),
        ("uint b[]", "uint16_t b[]", "other offsets or widths"),
        ("readonly buffer A { uint a[]; }", "uniform A { uvec4 a[16]; }", "uniform buffer in the second"),
        ("void main", "layout(push_constant) uniform P { uint p; };\nvoid main", "the push constants"),
    ],
)
def test_other_bindings_are_exit_code_2(
    compared: Compared, written: Written, old: str, new: str, words: str
) -> None:
    body = "b[g] = {}(x{});"
    one = _shader(written, body.format("uint", ""))
    kind = "uint16_t" if "uint16" in new else "float" if "float" in new else "uint"
    start = _START.replace(old, new).replace(
        "#extension", "#extension GL_EXT_shader_16bit_storage : enable\n#extension", 1
    )
    start = start.replace("= a[g]", "= a[g & 15u].x") if "uvec4" in new else start
    other = _shader(written, body.format(kind, " + p" * ("push" in new)), "b.comp", start)
    result = compared(one, other)
    if words:
        assert result["code"] == 2
        assert any(words in problem for problem in result["interface"])
        assert words in result["text"]
    else:
        # The same numbers at the same places, with other names and types.
        assert result["interface"] == []


def test_undefined_elements_are_counted_and_not_compared(compared: Compared, written: Written) -> None:
    one = _shader(written, "b[g] = i == 63u ? subgroupShuffle(x, 200u) : x;")
    other = _shader(written, "b[g] = i == 63u ? 7u : x;", "b.comp")
    result = compared(one, other, "--sizes", "32")
    assert (result["code"], result["counts"]["undefined"]) == (0, 4)


def test_an_error_of_one_shader_is_a_difference_and_of_both_no_verdict(
    compared: Compared, written: Written
) -> None:
    right = _shader(written, "part[i] = 1.0;\nb[g] = x;")
    racing = _shader(written, "part[i] = float(i);\nb[g] = uint(part[63u - i]);", "b.comp")
    result = compared(right, racing)
    assert (result["code"], result["difference"]["kind"]) == (1, "race")
    assert "only" in result["difference"]["message"]
    both = compared(racing, racing, "--sizes", "32")
    assert (both["code"], "both have errors" in both["text"]) == (3, True)


def test_arrays_are_long_enough_for_both(compared: Compared, written: Written) -> None:
    one = _shader(written, "b[g] = x;")
    other = _shader(written, "b[g] = x + 0u * a[g + 1000u];", "b.comp")
    assert compared(one, other, "--sizes", "32")["code"] == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--sizes", "32"), "at two sizes"),
        (("--sizes", "64,32", "--unordered", "Z"), "Z"),
    ],
)
def test_wrong_use_says_what_to_do(
    compared: Compared, written: Written, words: tuple[str, ...], text: str
) -> None:
    result = compared(_shader(written, "b[g] = x;"), *words)
    assert (result["code"], text in result["error"]) == (2, True)


def test_another_local_size_is_another_dispatch(compared: Compared, written: Written) -> None:
    other = _shader(written, "b[g] = x;", "b.comp", _START.replace("local_size_x = 64", "local_size_x = 32"))
    result = compared(_shader(written, "b[g] = x;"), other)
    assert (result["code"], "local size" in result["error"]) == (2, True)


def test_inputs_are_given_as_for_check(compared: Compared, written: Written) -> None:
    one = _shader(written, "b[g] = x / 3u;")
    other = _shader(written, "b[g] = x < 1000u ? x / 3u : 1u;", "b.comp")
    assert compared(one, other, "--sizes", "32")["code"] == 0
    given = ("--in", "A.a=" + ",".join(["5000"] * 64), "--groups", "1")
    assert compared(one, other, "--sizes", "32", *given)["code"] == 1


_LIST = _START.replace("uint b[]", "uint count; uvec4 whole; vec2 b[256]")


@pytest.mark.parametrize(
    ("body", "other", "code"),
    [
        ("if (g == 0u) count = 7u;", "if (g == 0u) count = 8u;", 1),
        ("if (g == 0u) whole = uvec4(1, 2, 3, 4);", "if (g == 0u) whole = uvec4(4, 3, 2, 1);", 1),
        ("b[g] = vec2(g, x);", "b[255u - g] = vec2(g, a[g]);", 0),
        ("b[g] = vec2(g, sin(float(x)));", "b[255u - g] = vec2(g, sin(float(x)) * 1.0000001);", 0),
        ("b[g] = vec2(g, 1.0);", "b[255u - g] = vec2(g, g == 9u ? 1.5 : 1.0);", 1),
    ],
)
def test_only_the_elements_of_arrays_have_no_order(
    compared: Compared, written: Written, body: str, other: str, code: int
) -> None:
    one, two = (_shader(written, text, name, _LIST) for text, name in ((body, "a.comp"), (other, "b.comp")))
    assert compared(one, two, "--sizes", "32", "--unordered", "B")["code"] == code


def test_each_shader_has_its_own_defaults_of_constants(compared: Compared, written: Written) -> None:
    start = _START.replace("shared float", "layout(constant_id = 1) const uint K = {}u;\nshared float")
    one, two = (
        _shader(written, "b[g] = x + K;", name, start.replace("{}", value))
        for name, value in (("a.comp", "5"), ("b.comp", "6"))
    )
    assert compared(one, two, "--sizes", "32")["code"] == 1
    assert compared(one, two, "--sizes", "32", "--spec", "K=7")["code"] == 0


def test_nothing_to_compare_is_no_verdict(compared: Compared, written: Written) -> None:
    start = _START.replace("buffer N { uint n; };", "readonly buffer N { uint n; };")
    undefined = _shader(written, "b[g] = uint(part[i]);", start=start)
    result = compared(undefined, "--sizes", "64,32", "--out", "B")
    assert (result["code"], "could be compared" in result["no_verdict"]) == (3, True)


def test_other_formats_of_images_are_other_bindings(compared: Compared, written: Written) -> None:
    one, two = (
        written(
            f"#version 450\nlayout(local_size_x = 8) in;\n"
            f"layout(binding = 0, {form}) uniform writeonly image2D t;\n"
            "void main() { imageStore(t, ivec2(gl_GlobalInvocationID.xy), vec4(0.5)); }\n",
            f"{form}.comp",
        )
        for form in ("rgba8", "rgba16f")
    )
    result = compared(one, two)
    assert (result["code"], "Rgba16f and Rgba8" in result["text"]) == (2, True)


_MODE = """#version 450
layout(local_size_x = 64) in;
layout(constant_id = {id}) const uint WAYS = 1u;
layout(binding = 0) readonly buffer {block} {{ uint a[]; }};
layout(binding = 1) buffer B {{ uint b[]; }};
layout(push_constant) uniform P {{ uint {member}; }};
void main() {{
uint g = gl_GlobalInvocationID.x;
{body}
}}
"""


def _mode(written: Written, name: str, body: str, **names: object) -> Path:
    return written(_MODE.format(**{"id": 3, "block": "A", "member": "mode", "body": body, **names}), name)


_PLAIN = "b[g] = a[g] * 2u;"


@pytest.mark.parametrize("special", ["m == 77777u", "m > 5000u && m < 5003u"])
def test_the_order_of_the_shaders_does_not_matter(compared: Compared, written: Written, special: str) -> None:
    one = _mode(written, "a.comp", _PLAIN)
    other = _mode(
        written, "b.comp", f"if ({special})\nb[g] = 3u; else {_PLAIN}", block="Other", member="m", id=4
    )
    for words in ((one, other), (other, one)):
        result = compared(*words)
        assert result["code"] == 1
        writes = [result["difference"]["place"], result["difference"]["notes"][0]["place"]]
        assert {(place["file"], place["line"]) for place in writes} == {(str(one), 9), (str(other), 10)}


_TWO_NUMBERS = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B {{ uint b[]; }};
layout(binding = 1) uniform {block} {{ uint first; uint second; }};
layout(push_constant) uniform P {{ {members} }};
void main() {{
uint g = gl_GlobalInvocationID.x, x = {x}, y = {y};
{body}
}}
"""


@pytest.mark.parametrize("number", ["x", "y", "U.second"])
def test_values_are_matched_by_offset_whatever_their_names(
    compared: Compared, written: Written, number: str
) -> None:
    """A vector of two and two numbers have the same layout."""
    two = {"block": "U", "members": "uint first_; uint second_;", "x": "first_", "y": "second_"}
    vector = {"block": "Other", "members": "uvec2 xy;", "x": "xy.x", "y": "xy.y"}
    plain = "b[g] = x + y + second;"
    special = f"if ({number.removeprefix('U.')} == 77777u) b[g] = 3u; else {plain}"
    one = written(_TWO_NUMBERS.format(body=plain, **two), "one.comp")
    other = written(_TWO_NUMBERS.format(body=special, **vector), "other.comp")
    same = written(_TWO_NUMBERS.format(body=plain, **vector), "same.comp")
    for words in ((one, other), (other, one)):
        assert compared(*words)["code"] == 1
    assert compared(one, same)["code"] == compared(same, one)["code"] == 0
    # A member of the first is a part of a vector in the second.
    given = compared(one, same, "--push", "first_=3", "--push", "second_=4")
    assert (given["code"], "second_ = 4" in given["text"]) == (0, True)


def test_code_of_the_second_shader_that_does_not_run_is_named(
    compared: Compared, written: Written, tmp_path: Path
) -> None:
    values = tmp_path / "values.npy"
    np.save(values, np.arange(256, dtype=np.uint32))
    one = _mode(written, "a.comp", _PLAIN)
    rare = f"if (a[g] == 0x12345678u)\nb[g] = 3u; else if (m == 9u) {{\nb[g] = 4u; }} else\n{_PLAIN}"
    other = _mode(written, "b.comp", rare, block="Other", member="m")
    result = compared(one, other, "--push", "mode=3", "--in", f"A={values}", "--sizes", "32")
    assert result["code"] == 0
    # The given mode makes the other line unreachable.
    assert (result["not_executed"], result["not_executed_in_second"]) == ([], ["line 10"])
    assert f"not executed in {other}: line 10" in result["text"]
    result = compared(other, one, "--push", "m=3", "--in", f"Other={values}", "--sizes", "32")
    assert (result["not_executed"], result["not_executed_in_second"]) == (["line 10"], [])


def test_workgroups_that_only_one_shader_uses_give_no_other_verdict_in_another_order(
    compared: Compared, written: Written
) -> None:
    """With workgroups in two dimensions, which a search for the second chooses, both have a race."""
    one = _mode(written, "a.comp", "b[g] += a[g];")
    other = _mode(written, "b.comp", "if (gl_WorkGroupID.y == 5u)\nb[g] = 3u; else\nb[g] += a[g];")
    found = [compared(one, other), compared(other, one)]
    assert [result["code"] for result in found] == [0, 0]
    assert [result["groups"] for result in found] == [[[4, 1, 1]]] * 2
    assert found[0]["not_executed_in_second"] == found[1]["not_executed"] == ["line 10"]


def test_a_shader_that_ignores_the_workgroup_differs_in_both_orders(
    compared: Compared, written: Written
) -> None:
    one = _mode(written, "a.comp", "b[gl_LocalInvocationIndex] = 1u;")
    other = _mode(written, "b.comp", "if (gl_WorkGroupID.x == 0u) b[g] = 1u; else b[g] = 1u;")
    assert compared(one, other)["code"] == compared(other, one)["code"] == 1


def test_after_a_difference_only_sizes_that_ran_are_named(compared: Compared, written: Written) -> None:
    one = _mode(written, "a.comp", _PLAIN)
    other = _mode(written, "b.comp", f"if (m == 77777u)\nb[g] = 3u; else {_PLAIN}", member="m")
    result = compared(one, other)
    assert (result["code"], result["sizes"][-1]) == (1, [128, 128])
    result = compared(one, _mode(written, "c.comp", "b[g] = a[g];"))
    assert (result["sizes"], result["not_executed_in_second"]) == ([[1, 1]], [])

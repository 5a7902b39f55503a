"""Generated inputs: values that split workgroups, contents that show losses, and trials without clocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.check import trials
from vkgroup.check.contents import NumberGenerator, neutral

Written = Callable[..., Path]
Checked = Callable[..., dict[str, Any]]

_RETURN = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = {x}, local_size_y = {y}) in;
layout(std430, binding = 0) buffer B {{ uint b[]; }};
{declaration}
shared uint s[64];
void main() {{
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    if ({outside}) return;
    s[l] = b[{at}];
    {barrier}
    b[{at}] = s[l] + 1u;
}}
"""


def _returning(x: int, y: int, declaration: str, outside: str, barrier: str) -> str:
    at, p = ("i", "") if y == 1 else ("1024u * p.y + i", "ivec2 p = ivec2(gl_GlobalInvocationID.xy); ")
    return _RETURN.format(x=x, y=y, declaration=declaration, outside=outside, barrier=barrier, at=at).replace(
        "    if (", f"    {p}if (", 1
    )


_PUSH = "layout(push_constant) uniform P {{ {} }} u;"
_UNIFORM = "layout(std140, binding = 1) uniform U {{ {} }} u;"
_SIZES = "readonly buffer S {{ {} }} u;"

_LIMITS = {
    "push n": (64, 1, _PUSH.format("uint n;"), "i >= u.n"),
    "push width, height": (8, 8, _PUSH.format("uint width, height;"), "p.x >= u.width || p.y >= u.height"),
    "push ivec2": (8, 8, _PUSH.format("ivec2 screen;"), "any(greaterThanEqual(p, u.screen))"),
    "push named by chance": (64, 1, _PUSH.format("uint zebra;"), "i >= u.zebra"),
    "uniform uvec2": (
        8,
        8,
        _UNIFORM.format("uvec2 size; uint f;"),
        "any(greaterThanEqual(p, ivec2(u.size)))",
    ),
    "uniform uvec4": (8, 8, _UNIFORM.format("uvec4 v;"), "uint(p.x) >= u.v.z || uint(p.y) >= u.v.w"),
    "uniform structure": (
        64,
        1,
        "struct Grid { uint pad, cells; };\n" + _UNIFORM.format("Grid grid;"),
        "i >= u.grid.cells",
    ),
    "local position": (64, 1, _PUSH.format("uint active_threads;"), "l >= u.active_threads"),
    "four elements each": (64, 1, _PUSH.format("uint n;"), "4u * i + 3u >= u.n"),
    "count of vectors": (64, 1, _PUSH.format("uint n;"), "i >= u.n / 4u"),
    "not less": (64, 1, _PUSH.format("uint n;"), "!(u.n > i)"),
    "length": (64, 1, "", "i >= b.length()"),
    "length of quadruples": (64, 1, "", "4u * i + 3u >= b.length()"),
    "unset constant": (64, 1, "layout(constant_id = 0) const uint N = 0;", "i >= N"),
}


@pytest.mark.parametrize("name", _LIMITS)
def test_a_limit_of_a_position_splits_a_workgroup(name: str, checked: Checked, written: Written) -> None:
    x, y, declaration, outside = _LIMITS[name]
    text = _returning(x, y, declaration, outside, "barrier();")
    report = checked(written(text), "--subgroup-size", "32")
    line = 1 + text.splitlines().index("    barrier();")
    assert report["code"] == 1
    assert ("barrier", line) in {(each["kind"], each["place"]["line"]) for each in report["findings"]}


@pytest.mark.parametrize("name", _LIMITS)
def test_a_limit_without_a_barrier_is_no_error(name: str, checked: Checked, written: Written) -> None:
    x, y, declaration, outside = _LIMITS[name]
    text = _returning(x, y, declaration, outside, "")
    report = checked(
        written(text.replace("b[i] = s[l]", "if (l < 64u) b[64u * gl_WorkGroupID.x + l] = s[l]"))
    )
    assert [each for each in report["findings"] if each["kind"] == "barrier"] == []


def test_a_constant_of_the_source_that_splits_a_workgroup_is_a_question(
    checked: Checked, written: Written
) -> None:
    declaration = "layout(constant_id = 3) const uint N = 256;"
    text = _returning(64, 1, declaration, "i >= N", "barrier();")
    report = checked(written(text), "--subgroup-size", "32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    (value,) = question["values"]
    assert (value["name"], value["other"], value["option"]) == ("N", 256, "--spec N=V")
    assert "barrier" in {each["kind"] for each in question["findings"]}
    assert checked(written(text), "--spec", "N=256", "--subgroup-size", "32")["questions"] == []


def test_a_given_limit_is_kept(checked: Checked, written: Written) -> None:
    x, y, declaration, outside = _LIMITS["push n"]
    text = _returning(x, y, declaration, outside, "barrier();")
    report = checked(written(text), "--push", "n=256", "--subgroup-size", "32")
    assert (report["code"], report["findings"], report["questions"]) == (0, [], [])


_SLOW = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint count; } p;
shared float s[64];
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.count) return;
    float sum = 0.0;
    for (uint k = 0u; k < p.count; k += 64u) {
        s[gl_LocalInvocationIndex] = a[min(k + gl_LocalInvocationIndex, p.count - 1u)];
        barrier();
        for (uint j = 0u; j < 64u; j++) sum += s[j] * s[j];
        barrier();
    }
    b[i] = sum;
}
"""


@pytest.mark.parametrize("limit", [1 << 14, 1 << 18, 1 << 25])
def test_an_error_of_a_trial_without_an_end_is_reported(
    limit: int, checked: Checked, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short the trials are: values that execute less do not hide what others have shown."""
    monkeypatch.setattr(trials, "WORK_LIMIT", limit)
    report = checked(written(_SLOW), "--subgroup-size", "32")
    lines = {(each["kind"], each["place"]["line"]) for each in report["findings"]}
    assert report["code"] == 1
    assert ("barrier", 13) in lines


# --- contents -----------------------------------------------------------------------------------------------

_LOST = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A {{ {type} a[]; }};
layout(std430, binding = 1) buffer R {{ {type} r[]; }};
shared {type} part[64];
void main() {{
    {type} m = subgroup{operation}(a[gl_GlobalInvocationID.x]);
    if (subgroupElect()) part[gl_SubgroupID] = m;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {{
        {type} v = part[0];
        for (uint k = 1u; k < {count}; k++) v = {combined};
        r[gl_WorkGroupID.x] = v;
    }}
}}
"""
_COMBINED = {
    "Or": "v | part[k]",
    "And": "v & part[k]",
    "Min": "min(v, part[k])",
    "Max": "max(v, part[k])",
}


@pytest.mark.parametrize("type_", ["uint", "int", "float"])
@pytest.mark.parametrize("operation", _COMBINED)
def test_a_lost_part_of_a_reduction_shows(
    operation: str, type_: str, checked: Checked, written: Written
) -> None:
    """Only the partial results of the first two subgroups are combined: right at sizes of 32 and more."""
    if type_ == "float" and operation in ("Or", "And"):
        type_ = "uint"
    options = {"type": type_, "operation": operation, "combined": _COMBINED[operation]}
    wrong = checked(written(_LOST.format(count="min(2u, gl_NumSubgroups)", **options)))
    assert wrong["code"] == 1
    assert {each["kind"] for each in wrong["findings"]} == {"differs"}
    assert {1, 4, 8, 16} <= set(wrong["findings"][0]["sizes"])
    right = checked(written(_LOST.format(count="gl_NumSubgroups", **options)))
    assert (right["code"], right["findings"], right["questions"]) == (0, [], [])


@pytest.mark.parametrize(
    ("atomic", "operation"),
    [("atomicMin", "Min"), ("atomicAnd", "And"), ("atomicMax", "Max"), ("atomicOr", "Or")],
)
def test_a_lost_result_of_an_atomic_shows(
    atomic: str, operation: str, checked: Checked, written: Written
) -> None:
    text = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint result; };
void main() {
    uint m = subgroup%s(a[gl_GlobalInvocationID.x] + 5u);
    if (%s) %s(result, m);
}
"""
    assert checked(written(text % (operation, "gl_LocalInvocationIndex == 0", atomic)))["code"] == 1
    right = checked(written(text % (operation, "subgroupElect()", atomic)))
    assert (right["code"], right["findings"], right["questions"]) == (0, [], [])


def test_the_neutral_element_is_that_of_the_only_operation() -> None:
    unsigned, signed, real = np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.float32)
    assert neutral(["OpAtomicUMin", "OpAtomicLoad"], unsigned) == 2**32 - 1
    assert neutral(["OpAtomicSMax"], signed) == -(2**31)
    assert neutral(["OpAtomicFMinEXT"], real) == np.finfo(np.float32).max
    assert (neutral(["OpAtomicAnd"], unsigned), neutral(["OpAtomicAnd"], signed)) == (2**32 - 1, -1)
    for names in (["OpAtomicUMin", "OpAtomicUMax"], ["OpAtomicCompareExchange"], ["OpAtomicIAdd"]):
        assert neutral(names, unsigned) == 0


@pytest.mark.parametrize("operations", [(), ("Or",), ("And", "Or"), ("Min", "Max")])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_contents_keep_their_beginning(dtype: Any, operations: tuple[str, ...]) -> None:
    generator = NumberGenerator(5, (256, 1, 1), (4, 1, 1), 64)
    short = generator.array("a", np.dtype(dtype), (100,), operations)
    long = generator.array("a", np.dtype(dtype), (300,), operations)
    assert np.array_equal(short, long[:100])
    assert not np.array_equal(short, generator.array("b", np.dtype(dtype), (100,), ()))


def test_a_picture_that_grows_keeps_its_beginning() -> None:
    generator = NumberGenerator(5, (16, 16, 1), (1, 1, 1))
    small = generator.array("a", np.dtype(np.float32), (8, 9, 4))
    assert np.array_equal(small, generator.array("a", np.dtype(np.float32), (20, 30, 4))[:8, :9])


def test_a_change_of_one_value_does_not_change_others(checked: Checked, written: Written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint first, second, third; float f; } p;
layout(std430, binding = 0) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] += p.first + p.second * p.third + uint(8.0 * p.f); }
"""
    file = written(text)
    generated = checked(file, "--subgroup-size", "32")["covered"]["inputs"]
    given = checked(file, "--push", "second=77", "--subgroup-size", "32")["covered"]["inputs"]
    changed = [after for before, after in zip(generated, given, strict=True) if before != after]
    assert changed == ["push constant second = 77"]


_SCATTER = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Order {{ uint order[]; }};
layout(std430, binding = 1) writeonly buffer Target {{ uint target[]; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    target[{index}] = i;
}}
"""


@pytest.mark.parametrize(
    "index", ["order[i]", "order[gl_WorkGroupID.x] + gl_LocalInvocationIndex", "order[i] + 7u"]
)
def test_a_race_by_equal_contents_is_a_question(index: str, checked: Checked, written: Written) -> None:
    report = checked(written(_SCATTER.format(index=index)), "--subgroup-size", "32")
    assert (report["code"], report["findings"]) == (0, [])
    (question,) = report["questions"]
    (value,) = question["values"]
    assert (value["name"], value["value"], value["option"]) == (
        "Order[]",
        "random numbers",
        "--in Order=FILE",
    )
    assert {each["kind"] for each in question["findings"]} == {"race"}
    assert report["covered"]["compared"] > 0


@pytest.mark.parametrize("index", ["order[i] & 15u", "order[i] / 1000000u", "order[i] * 0u + (i >> 1)"])
def test_a_race_of_distinct_contents_is_a_finding(index: str, checked: Checked, written: Written) -> None:
    report = checked(written(_SCATTER.format(index=index)), "--subgroup-size", "32")
    assert report["code"] == 1
    assert {each["kind"] for each in report["findings"]} == {"race"}

"""Findings with one cause: one finding that lists its lines."""

from __future__ import annotations

import pytest

_HEAD = """#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) buffer B { uint b[]; };
layout(binding = 1) buffer C { uint c[]; };
shared uint s[8];
void main() {
    uint x = gl_LocalInvocationID.x, i = gl_LocalInvocationIndex;
"""
_START = _HEAD.count("\n") + 1


def test_races_on_one_buffer_are_one_finding_with_all_lines(checked, written) -> None:
    lines = "".join(f"b[x] += {number}u + i;\n" for number in range(20))
    report = checked(written(f"{_HEAD}{lines}}}"), "--subgroup-size", "4")
    (finding,) = report["findings"]
    assert finding["kind"] == "race"
    assert finding["place"]["line"] == _START
    assert [place["line"] for place in finding["further"]] == [*range(_START + 1, _START + 20)]
    assert "b[x] += 3u + i;" in report["text"]
    assert "b[x] += 4u + i;" not in report["text"]
    assert f"and in 16 more lines: {_START + 4} to {_START + 19}" in report["text"]


def test_races_on_two_buffers_are_two_findings(checked, written) -> None:
    report = checked(written(f"{_HEAD}b[x] = i;\nc[x] = i;\nb[x] = i + 1u; }}"), "--subgroup-size", "4")
    lines = [
        (finding["place"]["line"], [place["line"] for place in finding["further"]])
        for finding in report["findings"]
    ]
    assert lines == [(_START, [_START + 2]), (_START + 1, [])]


def test_a_race_that_needs_something_else_is_another_finding(checked, written) -> None:
    body = """if (gl_WorkGroupID.x == 0u) {
    b[i] = i;
    barrier();
    c[i] = b[63u - i];
} else {
    b[64u + x] = i;
}"""
    report = checked(written(f"{_HEAD}{body} }}"), "--groups", "2", "--subgroup-size", "8")
    messages = [finding["message"] for finding in report["findings"]]
    assert len(messages) == 2
    assert sum("add memoryBarrierBuffer()" in message for message in messages) == 1


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_writes_of_the_same_value_are_one_finding(count: int, checked, written) -> None:
    lines = "".join(f"s[{number}] = 1u;\n" for number in range(count))
    report = checked(written(f"{_HEAD}{lines}}}"), "--subgroup-size", "8")
    (finding,) = report["findings"]
    assert finding["kind"] == "same_value"
    assert len(finding["further"]) == count - 1
    assert ("and in 1 more line:" in report["text"]) == (count == 5)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("if (i == 0u) atomicExchange(n, 0u);\natomicAdd(n, 1u);", [8]),
        ("atomicOr(n, i);\nif (i == 0u) atomicExchange(n, 0u);", [8]),
        # A lock, the last of several, and an order: what an atomic returns decides, or nothing is lost.
        ("if (atomicOr(n, 1u) == 0u)\natomicExchange(n, 0u);", []),
        ("if (atomicAdd(n, 1u) == 255u)\natomicExchange(n, 0u);", []),
        ("if (i == 0u) atomicExchange(s, 0u); barrier();\natomicAdd(s, 1u);", []),
        ("atomicMax(n, i);\natomicAdd(n, 0u);", []),
    ],
)
def test_an_atomic_that_overwrites_what_others_accumulate_is_a_race(
    body: str, lines: list[int], checked, written
) -> None:
    shader = written(
        "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer N { uint n; };\n"
        f"shared uint s;\nvoid main() {{\nuint i = gl_GlobalInvocationID.x;\n{body}\n}}\n"
    )
    found = [entry for entry in checked(shader)["findings"] if not entry["weak"]]
    assert [(entry["kind"], entry["place"]["line"]) for entry in found] == [("race", line) for line in lines]
    assert all("no order decides what is lost" in entry["message"] for entry in found)

"""Racing writes of the same value: a weak finding, unless another access races too."""

from __future__ import annotations

from typing import Any

import pytest

from vkgroup.testing import ShaderFindings, check_shader

_HEAD = """#version 460
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint b[]; };
layout(binding = 1) buffer N { uint n; uint m; uvec4 v; float16_t h[2]; };
shared uint s;
void main() {
    uint i = gl_LocalInvocationIndex;
    b[gl_GlobalInvocationID.x] = i;
"""


def _kinds(report: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in report["findings"]]


@pytest.mark.parametrize(
    "body",
    [
        "n = 5u;",
        "v = uvec4(1u, 2u, 3u, 4u);",
        "h[1] = float16_t(1.5);",
        "if (i == 2u) n = 5u; if (i == 6u) n = 5u;",
        "n = gl_NumWorkGroups.x;",
    ],
)
def test_writes_of_the_same_value_are_weak(body: str, checked, written) -> None:
    report = checked(written(f"{_HEAD}{body} }}"))
    assert set(_kinds(report)) == {"same_value"}
    assert all(finding["weak"] for finding in report["findings"])
    assert report["code"] == 0
    assert report["covered"]["compared"] > 0
    assert "weak finding" in report["text"]


@pytest.mark.parametrize(
    "body",
    [
        "n = i;",
        "v = uvec4(1u, 2u, i, 4u);",
        "if (i == 2u) n = 5u; if (i == 6u) n = 7u;",
        "if (i == 2u) n = 5u; if (i == 4u) n = 7u; if (i == 6u) n = 7u;",
        "n += 1u;",
        "n = 5u; m = n;",
        "n = 5u; atomicAdd(n, 0u);",
        "if (i == 1u) { atomicAdd(n, 1u); } else { n = 5u; }",
    ],
)
def test_a_race_with_another_value_or_access_is_a_race(body: str, checked, written) -> None:
    report = checked(written(f"{_HEAD}{body} }}"), "--groups", "1", "--subgroup-size", "4,32")
    assert "race" in _kinds(report)
    assert report["code"] == 1


def test_undefined_values_are_not_the_same(checked, written) -> None:
    report = checked(written(f"{_HEAD}uint u; s = u; barrier(); b[i] = s; }}"), "--groups", "1")
    assert "same_value" not in _kinds(report)


def test_a_race_comes_before_a_weak_finding_of_an_earlier_line(checked, written) -> None:
    report = checked(written(f"{_HEAD}n = 5u;\nm = i; }}"), "--groups", "1", "--subgroup-size", "8")
    assert _kinds(report) == ["race", "same_value"]
    assert "1 finding and 1 weak finding" in report["text"]


def test_strict_fails_for_weak_findings(checked, written) -> None:
    report = checked(written(f"{_HEAD}n = 5u; }}"), "--strict", "--subgroup-size", "8")
    assert _kinds(report) == ["same_value"]
    assert report["code"] == 1
    assert "--strict" in report["findings"][0]["command"]


def test_check_shader_raises_for_weak_findings_if_strict(written) -> None:
    file = written(f"{_HEAD}n = 5u; }}")
    assert [finding.kind for finding in check_shader(file, sizes=(8,)).findings] == ["same_value"]
    with pytest.raises(ShaderFindings, match="same_value"):
        check_shader(file, sizes=(8,), strict=True)

"""Findings at quad operations of compute shaders explain what a quad is."""

from __future__ import annotations

import pytest

_SHADER = """#version 460
#extension GL_KHR_shader_subgroup_quad : require
{extension}
layout(local_size_x = 8, local_size_y = 8) in;
{layout}
layout(binding = 0) buffer A {{ uint a[]; }};
void main() {{
    uint i = gl_WorkGroupID.x * 64u + gl_LocalInvocationIndex;
    uint v = a[i] + gl_LocalInvocationIndex;
    if (gl_LocalInvocationIndex % 3u != 0u) {{
        uint far = subgroupQuadSwapDiagonal(v);
        a[i] = far;
    }}
    if (gl_LocalInvocationIndex == 6u) a[i] /= gl_LocalInvocationIndex & 1u;
}}
"""
_EXTENSION = "#extension GL_NV_compute_shader_derivatives : require"


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("", "four consecutive lanes"),
        ("layout(derivative_group_quadsNV) in;", "2×2 invocations"),
        ("layout(derivative_group_linearNV) in;", "gl_LocalInvocationIndex"),
    ],
)
def test_the_rule_says_which_invocations_are_a_quad(layout: str, words: str, checked, written) -> None:
    text = _SHADER.format(layout=layout, extension=_EXTENSION if layout else "")
    report = checked(written(text), "--subgroup-size", "8,32", "--groups", "2")
    rules = {
        finding["place"]["line"]: [
            note["message"] for note in finding["notes"] if "a quad" in note["message"]
        ]
        for finding in report["findings"]
    }
    at_quad = [rule for line, found in rules.items() if line in (11, 12) for rule in found]
    assert any(rule.startswith("rule: ") and words in rule for rule in at_quad)
    assert rules.get(14) == []

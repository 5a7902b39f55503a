"""Loops with more rounds than --step-limit that provably end are not covered, and no hang."""

from __future__ import annotations

from itertools import pairwise

import pytest

from vkgroup.check.counted_loops import CountedLoops
from vkgroup.compiler import compile_source

_SHADER = """#version 460
layout(local_size_x = 4) in;
layout(push_constant) uniform P {{ uint n; int m; }} p;
layout(binding = 0) readonly buffer A {{ uint a[]; }};
layout(binding = 1) buffer B {{ uint b[]; }};
uint end, limit;
void more() {{ limit++; }}
uint twice(uint x) {{ uint s = x; for (uint k = 0; k < 100000u; k++) s += k; return s; }}
void main() {{
    uint i = gl_GlobalInvocationID.x, x = 0u;
    {body}
    b[i] = x;
}}
"""


def _ends(body: str) -> bool:
    """Whether the last loop of main() provably ends."""
    module = compile_source(_SHADER.format(body=body), stage="compute")
    following = pairwise(module.instructions)
    branches = [branch.position for merge, branch in following if merge.name == "OpLoopMerge"]
    loops = CountedLoops(module)
    return all(loops.ends(position) for position in branches)


@pytest.mark.parametrize(
    "body",
    [
        "for (uint k = 0u; k < 1000000u; k++) x += k;",
        "for (int k = 1000000; k >= 0; k -= 3) x += k;",
        "for (uint k = 1000000u; k > 0u; k--) x += k;",
        "for (uint k = 0u; k != 1000000u; ++k) x += k;",
        "for (uint k = i; k < p.n; k += 64u) x += a[k];",
        "for (uint k = 0u; p.n > k; k++) x += k;",
        "for (uint k = 0u; k < a[i]; k++) x += k;",
        "uint end = a[i] / 2u; for (uint k = 0u; k < end; k++) x += k;",
        "uint k = 0u; while (k < 1000000u) { x += k; k++; }",
        "uint k = 0u; do { x += k; k++; } while (k < 1000000u);",
        "for (uint j = 0u; j < 1000u; j++) for (uint k = j; k < 1000u; k++) x += k;",
        "for (uint k = 0u; k < 1000000u; k++) { if ((k & 1u) == 0u) continue; x += k; }",
        "for (uint k = 0u; k < 1000000u; k++) { if (a[k] == 5u) break; x += k; }",
        "for (uint k = 0u; k < 10u; k++) x += twice(k);",
        "end = p.n * 2u; for (uint k = 0u; k < end; k++) { x += twice(k); more(); }",
    ],
)
def test_a_loop_with_a_limit_that_does_not_change_ends(body: str) -> None:
    assert _ends(body)


@pytest.mark.parametrize(
    "body",
    [
        "limit = p.n * 2u; for (uint k = 0u; k < limit; k++) { x += twice(k); more(); }",
        "for (uint k = 0u; k >= 0u; k++) x += k;",
        "for (uint k = 9u; k >= 0u; k--) x += k;",
        "for (uint k = 0u; k <= 0xffffffffu; k++) x += k;",
        "for (uint k = 9u; k > 0u; k -= 2u) x += k;",
        "for (uint k = 9u; k >= p.n; k--) x += k;",
        "for (uint k = 0u; k != 1000001u; k += 2u) x += k;",
        "for (int k = 0; k < 10; k--) x += k;",
        "for (int k = 0; k < 10; k += p.m) x += k;",
        "for (uint k = 0u, n = 5u; k < n; k++) n++;",
        "for (uint k = 0u; k < b[0]; k++) b[0] += 1u;",
        "for (uint k = 0u; k < a[k]; k++) x += k;",
        "for (uint k = 0u; k < 10u; k++) { if (a[k] == 5u) k = 0u; x += k; }",
        "uint k = 0u; while (k < 10u) { if (a[k] == 5u) continue; k++; }",
        "uint k = 0u; while (k < 10u) { if (a[k] == 5u) k++; }",
        "while (x != 1u) x = (x & 1u) == 0u ? x / 2u : 3u * x + 1u;",
        "while (true) for (uint k = 0u; k < 10u; k++) x += k;",
        "while (true) x += twice(i);",
        "while (atomicOr(b[i], 0u) == 0u) { }",
        "for (uint k = 1u; k < 1000u; k *= a[i]) x += k;",
    ],
)
def test_another_loop_may_not_end(body: str) -> None:
    assert not _ends(body)


def test_a_long_loop_is_not_covered(checked, written) -> None:
    file = written(_SHADER.format(body="for (uint k = 0u; k < 20000u; k++) x += k;"))
    report = checked(file, "--subgroup-size", "4,8", "--groups", "1")
    assert report["code"] == 2
    assert "--step-limit" in report["error"]
    report = checked(file, "--subgroup-size", "4,8", "--groups", "1", "--step-limit", "30000")
    assert (report["code"], report["findings"]) == (0, [])


def test_accesses_before_the_limit_are_findings(checked, written) -> None:
    body = "b[0] = i; for (uint k = 0u; k < 20000u; k++) x += k;"
    report = checked(written(_SHADER.format(body=body)), "--subgroup-size", "4")
    assert report["code"] == 1
    assert {finding["kind"] for finding in report["findings"]} == {"race"}
    assert any("raise --step-limit" in why for _, why in report["covered"]["not_covered"])


@pytest.mark.parametrize("suffix", ["hlsl", "slang"])
def test_a_long_loop_of_another_language_is_not_covered(suffix: str, checked, written) -> None:
    text = """RWStructuredBuffer<uint> data;
[shader("compute")][numthreads(4, 1, 1)]
void main(uint3 i : SV_DispatchThreadID) {
    uint x = data[i.x];
    for (uint k = 0; k < 20000; k++) x = x * 3 + k;
    data[i.x] = x;
}
"""
    text = text.replace('[shader("compute")]', "") if suffix == "hlsl" else text
    report = checked(written(text, f"a.comp.{suffix}"), "--subgroup-size", "4", "--groups", "1")
    assert (report["code"], "--step-limit" in report["error"]) == (2, True)

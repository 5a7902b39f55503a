"""Checks of HLSL at the wave sizes that ``[WaveSize(…)]`` allows."""

from __future__ import annotations

import pytest

_SOURCE = """RWStructuredBuffer<uint> a : register(u0);
RWStructuredBuffer<uint> b : register(u1);
{attribute}
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{{
    b[id.x] = WaveReadLaneAt(a[id.x], WaveGetLaneIndex() ^ 16);
}}
"""


@pytest.mark.parametrize("compiler", ["dxc", "slang"])
@pytest.mark.parametrize(
    ("attribute", "ran", "is_undefined"),
    [
        ("[WaveSize(32, 64)]", {32, 64}, False),
        ("[WaveSize(8, 16, 16)]", {8, 16}, True),
        ("[WaveSize(64)]", {64}, False),
    ],
)
def test_only_allowed_sizes_run(attribute, ran, is_undefined, compiler, checked, written) -> None:
    file = written(_SOURCE.format(attribute=attribute), "shuffle.hlsl")
    report = checked(file, "--compiler", compiler)
    assert {run["subgroup_size"] for run in report["covered"]["configurations"]} == ran
    assert ("undefined" in {finding["kind"] for finding in report["findings"]}) is is_undefined
    assert "[WaveSize] allows sizes" in report["text"]


def test_given_sizes_replace_the_allowed_ones(checked, written) -> None:
    file = written(_SOURCE.format(attribute="[WaveSize(64)]"), "shuffle.hlsl")
    report = checked(file, "--compiler", "dxc", "--subgroup-size", "16")
    assert {run["subgroup_size"] for run in report["covered"]["configurations"]} == {16}
    assert "[WaveSize] allows sizes" not in report["text"]

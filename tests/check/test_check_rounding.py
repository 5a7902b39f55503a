"""Floats: the order of additions and the precision of functions are no findings, a lost term is one."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.check import check
from vkgroup.compiler import Target, compile_source
from vkgroup.spirv import Module

_SUM = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { TYPE y[]; };
shared float part[128];
void main() {
    float v = subgroupAdd(x[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        part[gl_SubgroupID] = v;
    barrier();
    if (gl_LocalInvocationIndex != 0u)
        return;
    float sum = 0.0;
    for (uint k = 0u; k < min(gl_NumSubgroups, MOST); ++k)
        sum += part[k];
    y[gl_WorkGroupID.x] = EXPRESSION;
}
"""


def _module(expression: str, kind: str = "float", most: str = "128u") -> Module:
    text = _SUM.replace("EXPRESSION", expression).replace("TYPE", kind).replace("MOST", most)
    return compile_source(text, stage="compute", target=Target.VULKAN_1_2, debug=True)


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    return np.random.default_rng(3).normal(size=512).astype(np.float32)


@pytest.mark.parametrize("expression", ["sum", "sum * sum - 0.25 * sum", "exp(sin(sum))", "sum / 3.0"])
def test_the_order_of_a_sum_is_no_finding(expression: str, noise: np.ndarray) -> None:
    report = check(_module(expression), inputs={"X": noise})
    assert report.findings == ()
    assert report.covered.rounded > 0


def test_an_integer_that_rounding_decides_is_no_finding(noise: np.ndarray) -> None:
    report = check(_module("floatBitsToUint(sum)", "uint"), inputs={"X": noise})
    assert report.findings == ()
    assert report.covered.rounded > 0


def test_a_lost_term_is_no_rounding(noise: np.ndarray) -> None:
    report = check(_module("sum", most="127u"), sizes=(1, 32), inputs={"X": noise})
    assert [finding.kind for finding in report.findings] == ["differs"]
    assert report.findings[0].sizes == (1,)


def test_exact_sums_need_no_allowance() -> None:
    report = check(_module("sum"))
    assert report.findings == ()
    assert report.covered.rounded == 0

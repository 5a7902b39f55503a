"""Reductions, conversions and functions of elements of matrices, and floats of 8 bits, in `check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.check import check

pytestmark = pytest.mark.usefixtures("tint")  # for the current glslang beside it

Written = Callable[..., Path]

_START = """#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_null_initializer : enable
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
#define M coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define SCORES coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define KEYS coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define ROWS gl_CooperativeMatrixLayoutRowMajor
float larger(const in float x, const in float y) { return max(x, y); }
float minus(const in float x, const in float y) { return x - y; }
float masked(const in uint32_t row, const in uint32_t column, const in float x) {
    if (column > row) return -1000.0;
    return x;
}
float lane(const in uint32_t row, const in uint32_t column, const in float x) {
    return x + float(gl_SubgroupInvocationID);
}
void main() {
    if (gl_SubgroupID != 0u) return;
    uint base = gl_WorkGroupID.x * 256u;
    M m, r;
    coopMatLoad(m, a, base, 16u, ROWS);
    %s
    coopMatStore(r, b, base, 16u, ROWS);
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, larger);",
        "coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowAndColumnNV, larger);",
        "coopMatPerElementNV(r, m, masked); coopMatReduceNV(r, r, gl_CooperativeMatrixReduceRowNV, larger);",
        "r = coopMatMulAdd(SCORES(m), KEYS(m), m);",
    ],
)
def test_right_shaders_have_no_findings(body: str, written: Written) -> None:
    report = check(written(_START % body), target="vulkan1.3")
    assert report.findings == ()
    assert report.covered.compared > 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, minus);", "differs"),
        ("coopMatPerElementNV(r, m, lane);", "differs"),
        ("r = m; if (gl_SubgroupInvocationID < 3u) coopMatPerElementNV(r, m, masked);", "undefined"),
    ],
)
def test_wrong_shaders_are_found(body: str, kind: str, written: Written) -> None:
    findings = check(written(_START % body), target="vulkan1.3").findings
    assert kind in {finding.kind for finding in findings}


def test_sizes_with_more_lanes_than_elements_are_not_covered(written: Written) -> None:
    text = (_START % "r = m + m;").replace("16, 16, gl_MatrixUseAcc", "4, 4, gl_MatrixUseAcc")
    file = written(text.replace("base, 16u", "base, 4u"))
    report = check(file, target="vulkan1.3")
    assert report.findings == ()
    assert {where for where, _ in report.covered.not_covered} == {"size 32", "size 64", "size 128"}
    assert all("do not divide evenly" in reason for _, reason in report.covered.not_covered)
    assert report.covered.compared > 0
    assert check(file, target="vulkan1.3", sizes=[4, 8]).covered.not_covered == ()
    with pytest.raises(Unsupported, match="runs at none of the subgroup sizes 32, 64"):
        check(file, target="vulkan1.3", sizes=[32, 64])


def test_a_function_that_is_not_associative_is_found_at_one_size(written: Written) -> None:
    """The order of the elements depends on which invocations form a subgroup, too."""
    body = "coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, minus);"
    report = check(written(_START % body), target="vulkan1.3", sizes=[32])
    assert report.findings != ()


def test_a_tangled_instruction_in_a_called_function_is_refused(written: Written) -> None:
    text = (_START % "coopMatPerElementNV(r, m, lane);").replace(
        "float(gl_Sub", "float(subgroupElect() ? 1u : gl_Sub"
    )
    with pytest.raises(InvalidModule, match="tangled instructions are not allowed"):
        check(written(text), target="vulkan1.3")


def test_floats_of_8_bits(written: Written) -> None:
    text = """#version 460
#extension GL_EXT_float_e4m3 : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { floate4m3_t a[]; };
shared floate4m3_t s[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    s[i] = a[gl_GlobalInvocationID.x];
    barrier();
    floate4m3_t x;
    saturatedConvertEXT(x, 2.0 * float(s[i ^ 1u]));
    a[gl_GlobalInvocationID.x] = x;
}
"""
    assert check(written(text)).findings == ()
    (finding,) = check(written(text.replace("barrier();", ""))).findings
    assert finding.kind == "race"

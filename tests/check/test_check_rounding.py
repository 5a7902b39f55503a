"""Floats: the order of additions and the precision of functions are no findings, a lost term is one."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.check import check
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.drivers import CachedDriver
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
    return compile_source(text, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True)


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


_IMAGE = """#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(FORMAT, binding = 0) uniform image2D picture;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec4 texel = imageLoad(picture, at) / 3.0 + vec4(at.xyxy) / 97.0;
    imageStore(picture, at, EXPRESSION);
}
"""


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("name", ["rgba8", "rgba16_snorm", "rg16f", "rgb10_a2", "r11f_g11f_b10f", "rgba32f"])
def test_texels_may_be_rounded_either_way(
    name: str, written, checked, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    file = written(_IMAGE.replace("FORMAT", name).replace("EXPRESSION", "sqrt(texel)"))
    report = checked(file, "--subgroup-size", "4,8", devices=(swiftshader.name, lavapipe.name))
    assert report["findings"] == []
    assert report["covered"]["devices"]


@pytest.mark.parametrize("name", ["rgba8", "rgb10_a2", "r11f_g11f_b10f"])
def test_a_texel_that_is_wrong_is_found(name: str, written, checked) -> None:
    """A twentieth is more than a step of any of these formats."""
    lane = "texel + float(gl_NumSubgroups > 8u) * vec4(0, 0.05, 0, 0)"
    text = _IMAGE.replace("FORMAT", name).replace("EXPRESSION", lane)
    text = text.replace("layout(local", "#extension GL_KHR_shader_subgroup_basic : require\nlayout(local", 1)
    report = checked(written(text), "--subgroup-size", "4,8")
    (finding,) = report["findings"]
    assert finding["kind"] == "differs"
    assert finding["element"] == "picture[0][0][1]"


def test_a_nan_in_a_packed_texel_is_not_compared(written, checked, lavapipe: CachedDriver) -> None:
    """lavapipe stores this NaN as an infinity; the shader does not require that NaNs are kept."""
    nan = "vec4(uintBitsToFloat(0x7F800100u + gl_LocalInvocationID.z))"
    text = _IMAGE.replace("FORMAT", "r11f_g11f_b10f").replace("EXPRESSION", nan)
    report = checked(written(text), "--subgroup-size", "8", devices=(lavapipe.name,))
    assert report["findings"] == []
    assert report["covered"]["devices"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        # Vulkan requires nothing of a division by zero. Numbers that are only moved are compared.
        ("gl_NumSubgroups > 8u ? zero / zero : 1.0 / zero", []),
        ("gl_NumSubgroups > 8u ? uintBitsToFloat(0x7FC00000u) : uintBitsToFloat(0x7F800000u)", ["differs"]),
        ("gl_NumSubgroups > 8u ? 5.0 : x[i + 512u]", ["differs"]),
    ],
    ids=["computed", "constant", "loaded"],
)
def test_nans_and_infinities_are_compared_if_they_are_only_moved(expression: str, found: list[str]) -> None:
    source = _ZERO.replace("EXPRESSION", expression)
    inputs = {"X": np.concatenate([np.full(512, 2.0, np.float32), np.full(512, np.inf, np.float32)])}
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True)
    assert [finding.kind for finding in check(module, sizes=(4, 32), inputs=inputs).findings] == found


_PRESERVED = """#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
"""


@pytest.mark.parametrize(
    ("expression", "declaration", "found"),
    [
        ("gl_NumSubgroups > 8u ? 3.0 * x[i + 512u] : -3.0 * x[i + 512u]", "", []),
        ("gl_NumSubgroups > 8u ? 3.0 * x[i + 512u] : -3.0 * x[i + 512u]", _PRESERVED, ["differs"]),
        ("gl_NumSubgroups > 8u ? x[i + 512u] : x[i + 1024u]", "", ["differs"]),
        ("gl_NumSubgroups > 8u ? 5.0 : 3.0 * x[i + 512u]", "", ["differs"]),
    ],
    ids=["computed", "preserved", "loaded", "another-number"],
)
def test_the_sign_of_a_computed_zero_is_compared_only_if_the_shader_preserves_it(
    expression: str, declaration: str, found: list[str]
) -> None:
    source = _ZERO.replace("float y[]", "uint y[]").replace("EXPRESSION", f"floatBitsToUint({expression})")
    source = source.replace("layout(local", declaration + "layout(local", 1)
    inputs = {"X": np.repeat(np.array([2.0, 0.0, -0.0], np.float32), 512)}
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True)
    assert [finding.kind for finding in check(module, sizes=(4, 32), inputs=inputs).findings] == found


@pytest.mark.parametrize("declaration", ["", _PRESERVED], ids=["none", "of float32"])
def test_the_sign_of_a_computed_zero_of_float64_is_not_compared(declaration: str) -> None:
    """The execution mode is that of another width."""
    computed = "(gl_NumSubgroups > 8u ? 3.0lf : -3.0lf) * double(x[i + 512u])"
    source = _ZERO.replace("float y[]", "uint y[]")
    source = source.replace("EXPRESSION", f"unpackDouble2x32({computed}).y")
    source = source.replace("layout(local", declaration + "layout(local", 1)
    inputs = {"X": np.repeat(np.array([2.0, 0.0], np.float32), 512)}
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True)
    assert check(module, sizes=(4, 32), inputs=inputs).findings == ()


_ZERO = """#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float zero = sqrt(x[i] * x[i]) - x[i];
    y[i] = EXPRESSION;
}
"""


def test_a_division_by_zero_that_rounding_avoids_is_no_finding() -> None:
    """The difference is zero only if the root is not rounded; the quotient is then arbitrary."""
    inputs = {"X": np.full(512, 2.0, np.float32)}
    for expression, found in (("mod(zero, 1.0 / zero)", []), ("zero", ["differs"])):
        text = _ZERO.replace("EXPRESSION", f"gl_NumSubgroups > 8u ? 1.0 : {expression}")
        module = compile_source(text, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True)
        assert [finding.kind for finding in check(module, sizes=(4, 32), inputs=inputs).findings] == found

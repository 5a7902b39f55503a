"""SPIR-V of HLSL's wave and quad intrinsics that differs from glslang's own output."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source, validate
from vkgroup.spirv import Instruction, Module

# Binding u0: a word of each lane, read and written.
COMPUTE = """RWStructuredBuffer<uint> words : register(u0);
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint u = words[id.x];
    int i = int(u);
    float f = asfloat(u);
    float3 f3 = float3(f, f + 1, f + 2);
    int2 i2 = int2(i, i + 1);
    bool2 b2 = bool2(u > 2, u > 5);
    double d = f;
    words[id.x] = uint(@);
}
"""

PIXEL = """struct Inputs { float4 position : SV_Position; };
uint4 main(Inputs inputs) : SV_Target0 {
    uint u = uint(inputs.position.x);
    @
}
"""


def compute(expression: str, target: TargetEnvironment = TargetEnvironment.VULKAN_1_1) -> Module:
    """Compile a compute shader that writes the value of an expression."""
    return compile_source(COMPUTE.replace("@", expression), stage="compute", dialect="hlsl", target=target)


def pixel(code: str, target: TargetEnvironment = TargetEnvironment.VULKAN_1_1) -> Module:
    """Compile a pixel shader of this code."""
    return compile_source(PIXEL.replace("@", code), stage="fragment", dialect="hlsl", target=target)


def group_instructions(module: Module) -> list[Instruction]:
    """Return the module's group instructions."""
    return [entry for entry in module.instructions if entry.name.startswith("OpGroupNonUniform")]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("WavePrefixSum(u)", "OpGroupNonUniformIAdd"),
        ("WavePrefixSum(f3).y", "OpGroupNonUniformFAdd"),
        ("WavePrefixSum(d)", "OpGroupNonUniformFAdd"),
        ("WavePrefixProduct(i2).x", "OpGroupNonUniformIMul"),
        ("WavePrefixProduct(f)", "OpGroupNonUniformFMul"),
    ],
)
def test_prefix_operations_are_exclusive(expression: str, name: str) -> None:
    (found,) = group_instructions(compute(expression))
    assert (found.name, found.operands[1]) == (name, 2)


@pytest.mark.parametrize("name", ["Sum", "Product"])
def test_reductions_stay_reductions(name: str) -> None:
    (found,) = group_instructions(compute(f"WaveActive{name}(u)"))
    assert found.operands[1] == 0


@pytest.mark.parametrize(
    ("value", "components"),
    [("u", 1), ("u > 2", 1), ("d", 1), ("b2", 2), ("i2", 2), ("f3", 3), ("f3.xzyx", 4), ("double2(d, d)", 2)],
)
def test_all_equal_compares_each_component(value: str, components: int) -> None:
    test = f"WaveActiveAllEqual({value})"
    module = compute(f"all({test})" if components > 1 else test)
    found = group_instructions(module)
    assert [entry.name for entry in found] == ["OpGroupNonUniformAllEqual"] * components
    if components > 1:
        swizzled = compute(f"{test}.{'xyzw'[components - 1]}")
        assert "OpGroupNonUniformAllEqual" in {entry.name for entry in group_instructions(swizzled)}


def test_what_is_made_for_all_equal_leaves_no_capability_behind() -> None:
    assert "Float64" not in compute("WaveActiveAllEqual(u)").reflection.capabilities
    # In a branch that is compiled away only the overloads are left.
    module = compute("false ? uint(WaveActiveAllEqual(u)) : u")
    assert "GroupNonUniformVote" not in compute("u // WaveActiveAllEqual\n").reflection.capabilities
    assert "Float64" not in module.reflection.capabilities


def test_lines_keep_their_numbers() -> None:
    with pytest.raises(CompileError) as caught:
        compute("WaveActiveAllEqual(nonesuch)")
    assert {found.line for found in caught.value.diagnostics} == {11}
    with pytest.raises(CompileError) as caught:
        compile_source("bool x = WaveActiveAllEqual(1u);\nvoid main() {", stage="compute", dialect="hlsl")
    assert max(found.line for found in caught.value.diagnostics) == 2


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_3])
@pytest.mark.parametrize("value", ["u", "f3", "i2", "d", "b2"])
def test_quad_reads_take_any_index(value: str, target: TargetEnvironment) -> None:
    swizzle = "" if value in ("u", "d") else ".y"
    found = group_instructions(compute(f"QuadReadLaneAt({value}, id.x & 3){swizzle}", target))
    assert [entry.name for entry in found] == ["OpGroupNonUniformQuadBroadcast"] * 4
    (found_at_once,) = group_instructions(compute(f"QuadReadLaneAt({value}, 3){swizzle}", target))
    assert found_at_once.name == "OpGroupNonUniformQuadBroadcast"


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_3])
def test_helper_lanes_are_kept_out_of_wave_operations_alone(target: TargetEnvironment) -> None:
    module = pixel(
        "uint across = QuadReadAcrossX(u); return uint4(WaveActiveSum(u), across, WaveIsFirstLane(), 1);",
        target,
    )
    names = [entry.name for entry in module.instructions]
    assert names.count("OpGroupNonUniformAny") == names.count("OpPhi") == 2
    # Decoration BuiltIn, HelperInvocation.
    assert any(e.name == "OpDecorate" and e.operands[1:] == (11, 23) for e in module.instructions)
    quads = pixel("return uint4(QuadReadAcrossX(u), QuadReadAcrossY(u), WaveGetLaneCount(), 1);", target)
    assert "OpPhi" not in [entry.name for entry in quads.instructions]
    assert "OpGroupNonUniformAny" not in [
        entry.name for entry in group_instructions(compute("WaveActiveSum(u)"))
    ]


@pytest.mark.parametrize(
    "target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_2, TargetEnvironment.VULKAN_1_3]
)
@pytest.mark.parametrize(
    "code",
    [
        "uint n = 0; do { n += WaveActiveSum(u); u /= 2; } while (u > 2); return n;",
        "uint n = 0; while (WaveActiveAnyTrue(u > n)) { n += 1 + WaveReadLaneFirst(u); } return n;",
        "uint n = 0; for (;;) { uint k = WaveReadLaneFirst(u); if (k == u) { n = WaveActiveCountBits(true);"
        " break; } if (n > 3) continue; n += k; } return n;",
        "uint n = 0; for (uint t = 0; t < u; t += WaveActiveMax(1u)) { if (t == 3) discard; n += t; }"
        " return n;",
        "switch (u & 3) { case 0: return WaveActiveMin(u); case 1: u = WavePrefixSum(u); break; default:"
        " u = WaveActiveBitOr(u) ? WaveActiveSum(u) : 7; } return u;",
        "return u > 3 && WaveActiveAllTrue(u > 5) ? WaveActiveBallot(u > 6)"
        " : uint4(WaveActiveAllEqual(u.xx), u, u);",
    ],
)
def test_helper_lanes_are_kept_out_in_any_control_flow(code: str, target: TargetEnvironment) -> None:
    module = pixel(code, target)
    validate(module, target)
    assert "OpGroupNonUniformAny" in {entry.name for entry in group_instructions(module)}
    for level in ("performance", "size"):
        source = PIXEL.replace("@", code)
        compile_source(source, stage="fragment", dialect="hlsl", target=target, optimize=level)


def test_discard_makes_helper_lanes_where_spirv_can_say_so() -> None:
    code = "if (u == 3) discard; return uint4(QuadReadAcrossX(u), WaveActiveSum(u), 0, 0);"
    module = pixel(code, TargetEnvironment.VULKAN_1_3)
    assert "OpDemoteToHelperInvocation" in {entry.name for entry in module.instructions}
    # A demoted lane has become a helper, and remembers.
    names = [entry.name for entry in module.instructions]
    assert names[names.index("OpDemoteToHelperInvocation") - 1] == "OpStore"
    begin = names.index("OpFunction")
    assert names[begin + 1 : begin + 4] == ["OpLabel", "OpLoad", "OpStore"]

"""Reflection: entry points, capabilities, extensions, subgroup operations, and its cost."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, assemble, compile_source
from vkgroup.spirv import Module, ScalarType, SubgroupUse

INT, UINT, FLOAT = ScalarType("int", 32), ScalarType("uint", 32), ScalarType("float", 32)


def test_capabilities_and_extensions() -> None:
    reflection = compile_source(
        "#version 460\n"
        "#extension GL_KHR_shader_subgroup_arithmetic : require\n"
        "#extension GL_KHR_shader_subgroup_vote : require\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"
        "#extension GL_EXT_shader_8bit_storage : require\n"
        "layout(binding = 0) buffer B { int8_t a; uint b; } b;\n"
        "void main() { if (subgroupAny(b.b > 0)) b.b = subgroupAdd(b.b); b.a += int8_t(1); }",
        stage="compute",
        target=TargetEnvironment.VULKAN_1_1,
    ).reflection
    assert reflection.capabilities == {
        "Shader",
        "Int8",
        "StorageBuffer8BitAccess",
        "GroupNonUniform",
        "GroupNonUniformVote",
        "GroupNonUniformArithmetic",
    }
    assert reflection.extensions == {"SPV_KHR_8bit_storage"}
    assert reflection.extended_instruction_sets == {"GLSL.std.450"}
    assert reflection.memory_model == ("Logical", "GLSL450")


def test_unknown_capability_keeps_its_number() -> None:
    module = assemble("OpCapability Shader\nOpMemoryModel Logical GLSL450")
    words = module.words.copy()
    words[6] = 60123
    assert Module.from_bytes(words.tobytes()).reflection.capabilities == {"Capability60123"}


def test_entry_points_and_execution_modes() -> None:
    reflection = compile_source(
        "#version 460\nlayout(location = 0) in vec4 a;\nlayout(location = 0) out vec4 b;\n"
        "layout(early_fragment_tests) in;\nvoid main() { b = a; }",
        stage="fragment",
        entry_point="shade",
    ).reflection
    (entry,) = reflection.entry_points
    assert (entry.name, entry.stage, entry.local_size) == ("shade", "fragment", None)
    assert len(entry.interface) == 2
    assert dict(entry.execution_modes) == {"OriginUpperLeft": (), "EarlyFragmentTests": ()}
    assert reflection.entry_point() is reflection.entry_point("shade") is entry
    with pytest.raises(InvalidModule, match=r"'main'.*shade"):
        reflection.entry_point("main")


def test_several_entry_points_must_be_named() -> None:
    text = """
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main "one"
        OpEntryPoint Vertex %main "two"
        OpExecutionMode %main LocalSize 3 1 1
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %main = OpFunction %void None %function
        %entry = OpLabel
        OpReturn
        OpFunctionEnd
    """
    reflection = assemble(text).reflection
    assert reflection.entry_point("two").stage == "vertex"
    with pytest.raises(InvalidModule, match=r"a single entry point.*one, two"):
        reflection.entry_point()


def test_debug_source() -> None:
    source = "#version 460\n// näher\n#define A 1\nvoid main() { int a = A; }\n"
    assert compile_source(source, stage="compute").debug_source is None
    assert compile_source(source, stage="compute", debug=True).debug_source == source


def test_debug_source_longer_than_an_instruction() -> None:
    source = "void main() {}\n" + "// ünïcödé €\n" * 40_000
    module = compile_source(source, stage="compute", debug=True)
    assert sum(instruction.name == "OpSourceContinued" for instruction in module.instructions) > 1
    assert module.debug_source == source


def uses(body: str, *extensions: str) -> frozenset[SubgroupUse]:
    enabled = "".join(f"#extension GL_{name} : require\n" for name in extensions)
    wide = "int64_t w;" if "int64" in enabled else ""
    return compile_source(
        f"#version 460\n{enabled}layout(binding = 0) buffer B {{ uint u; int i; vec3 f; {wide} }} b;\n"
        f"void main() {{ {body} }}",
        stage="compute",
        target=TargetEnvironment.VULKAN_1_2,
    ).reflection.subgroup_uses


@pytest.mark.parametrize(
    ("body", "extension", "expected"),
    [
        ("b.u = subgroupAdd(b.u);", "arithmetic", SubgroupUse("OpGroupNonUniformIAdd", UINT, "Reduce")),
        (
            "b.f = subgroupInclusiveMul(b.f);",
            "arithmetic",
            SubgroupUse("OpGroupNonUniformFMul", FLOAT, "InclusiveScan"),
        ),
        (
            "b.i = subgroupExclusiveMin(b.i);",
            "arithmetic",
            SubgroupUse("OpGroupNonUniformSMin", INT, "ExclusiveScan"),
        ),
        (
            "b.u = subgroupClusteredAnd(b.u, 4);",
            "clustered",
            SubgroupUse("OpGroupNonUniformBitwiseAnd", UINT, "ClusteredReduce"),
        ),
        ("b.u = subgroupShuffle(b.u, b.u);", "shuffle", SubgroupUse("OpGroupNonUniformShuffle", UINT)),
        ("b.f = subgroupBroadcast(b.f, 1);", "ballot", SubgroupUse("OpGroupNonUniformBroadcast", FLOAT)),
        (
            "b.f = subgroupBroadcast(b.f, b.u);",
            "ballot",
            SubgroupUse("OpGroupNonUniformBroadcast", FLOAT, dynamic_id=True),
        ),
        (
            "b.f = subgroupQuadBroadcast(b.f, 2);",
            "quad",
            SubgroupUse("OpGroupNonUniformQuadBroadcast", FLOAT),
        ),
        (
            "b.u = subgroupAllEqual(b.f) ? 1 : 0;",
            "vote",
            SubgroupUse("OpGroupNonUniformAllEqual", FLOAT),
        ),
        (
            "if (subgroupElect()) b.u = 1;",
            "basic",
            SubgroupUse("OpGroupNonUniformElect", ScalarType("bool", 1)),
        ),
    ],
)
def test_subgroup_uses(body: str, extension: str, expected: SubgroupUse) -> None:
    assert uses(body, f"KHR_shader_subgroup_{extension}") == {expected}


def test_subgroup_uses_on_extended_types() -> None:
    result = uses(
        "b.w = subgroupMax(b.w); bool e = subgroupAllEqual(b.w);",
        "KHR_shader_subgroup_arithmetic",
        "KHR_shader_subgroup_vote",
        "EXT_shader_explicit_arithmetic_types_int64",
        "EXT_shader_subgroup_extended_types_int64",
    )
    wide = ScalarType("int", 64)
    assert result == {
        SubgroupUse("OpGroupNonUniformSMax", wide, "Reduce"),
        SubgroupUse("OpGroupNonUniformAllEqual", wide),
    }


def test_reflection_takes_less_than_eight_loops_over_the_words() -> None:
    """In turns, since machines differ and change: where a loop takes 0.54 ms, 5 ms are nine of them."""
    body = "".join(
        f"b.v[{i}] = subgroupAdd(b.v[{i}] * {i}u) + subgroupShuffle(b.v[{i + 1}], {i}u);\n"
        for i in range(345)
    )
    module = compile_source(
        "#version 460\n#extension GL_KHR_shader_subgroup_arithmetic : require\n"
        "#extension GL_KHR_shader_subgroup_shuffle : require\n"
        f"layout(binding = 0) buffer B {{ uint v[]; }} b;\nvoid main() {{ {body} }}",
        stage="compute",
    )
    data = module.to_bytes()
    words = np.frombuffer(data, np.uint32).tolist()
    assert len(words) > 20_000
    ratios = []
    for _ in range(15):
        # Time of this thread alone: other work on the machine does not count.
        start = time.thread_time()
        reflection = Module.from_bytes(data).reflection
        middle = time.thread_time()
        total = 0
        for word in words:
            total += word & 0xFFFF
        ratios.append((middle - start) / (time.thread_time() - middle))
    assert len(reflection.subgroup_uses) == 2
    assert statistics.median(ratios) < 8

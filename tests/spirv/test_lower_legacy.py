"""SPV_KHR_shader_ballot: its tokens, its type rules, and the lowering of its instructions."""

from __future__ import annotations

import pytest
from legacy_assembly import BALLOT, BOTH, VOTE, mask_module, module

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, compile_source, disassemble, validate
from vkgroup.spirv import Module, grammar, lower_legacy

MASKS = (
    "SubgroupEqMaskKHR",
    "SubgroupGeMaskKHR",
    "SubgroupGtMaskKHR",
    "SubgroupLeMaskKHR",
    "SubgroupLtMaskKHR",
)
INSTRUCTIONS = {
    "OpSubgroupBallotKHR": (4421, "%r = OpSubgroupBallotKHR %v4uint %true", 4),
    "OpSubgroupFirstInvocationKHR": (4422, "%r = OpSubgroupFirstInvocationKHR %float %float_1", 4),
    "OpSubgroupReadInvocationKHR": (4432, "%r = OpSubgroupReadInvocationKHR %int %int_1 %uint_1", 5),
}


def names(of: Module) -> list[str]:
    """Return the names of a module's group instructions, in order."""
    return [i.name for i in of.instructions if "Group" in i.name]


# Tokens (SPV_KHR_shader_ballot, "Token Number Assignments") ------------------------------------------


@pytest.mark.parametrize(("number", "name"), list(enumerate(MASKS, 4416)))
def test_masks_have_the_numbers_of_the_document(number: int, name: str) -> None:
    of_core = name.removesuffix("KHR")
    assert grammar().enumerant("BuiltIn", number) == of_core
    made = mask_module(name)
    validate(made)
    (decoration,) = (i for i in made.instructions if i.name == "OpDecorate")
    assert decoration.operands[1:] == (11, number)
    # Decoration BuiltIn is 11 (SPIR-V 3.20); lowering leaves the built-in as it is.
    (decoration,) = (i for i in lower_legacy(made).instructions if i.name == "OpDecorate")
    assert decoration.operands[1:] == (11, number)


def test_the_capability_has_the_number_of_the_document() -> None:
    assert grammar().enumerant("Capability", 4423) == "SubgroupBallotKHR"
    made = module("")
    assert [i.operands for i in made.instructions if i.name == "OpCapability"] == [(1,), (4423,)]


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_instructions_have_the_numbers_and_lengths_of_the_document(name: str) -> None:
    number, code, length = INSTRUCTIONS[name]
    assert grammar().opcodes[name] == number
    made = module(code)
    validate(made)
    assert length << 16 | number in made.words


@pytest.mark.parametrize("dialect", ["vulkan", "gl"])
def test_glsl_compiles_to_those_numbers(dialect: str) -> None:
    source = """#version 450
    #extension GL_ARB_shader_ballot : require
    #extension GL_ARB_gpu_shader_int64 : require
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) buffer Results { uint results[]; };
    void main() {
        uvec2 found = unpackUint2x32(ballotARB(true) & (gl_SubGroupEqMaskARB | gl_SubGroupGeMaskARB |
            gl_SubGroupGtMaskARB | gl_SubGroupLeMaskARB | gl_SubGroupLtMaskARB));
        results[0] = found.x + readInvocationARB(found.y, 0u) + readFirstInvocationARB(found.x);
    }"""
    made = compile_source(source, stage="compute", dialect=dialect)
    assert sorted(i.opcode for i in made.instructions if i.name in INSTRUCTIONS) == [4421, 4422, 4432]
    built_ins = {i.operands[2] for i in made.instructions if i.name == "OpDecorate" and i.operands[1] == 11}
    assert {4416, 4417, 4418, 4419, 4420} <= built_ins
    assert made.reflection.extensions >= {"SPV_KHR_shader_ballot"}


def test_each_token_needs_its_capability_and_its_extension() -> None:
    for _, code, _ in INSTRUCTIONS.values():
        with pytest.raises(InvalidModule, match="SubgroupBallotKHR"):
            validate(module(code, capabilities=""))
    with pytest.raises(InvalidModule, match="requires extension"):
        validate(module("", capabilities="OpCapability SubgroupBallotKHR"))


# Type rules ----------------------------------------------------------------------------------------------

RIGHT = [
    "%r = OpSubgroupBallotKHR %v4uint %true",
    "%r = OpSubgroupBallotKHR %v4int %true",
    *(
        f"%r = OpSubgroup{name} %{type_} %{type_}_1{index}"
        for name, index in (("FirstInvocationKHR", ""), ("ReadInvocationKHR", " %uint_1"))
        for type_ in ("uint", "int", "float")
    ),
    "%r = OpSubgroupReadInvocationKHR %uint %uint_1 %int_1",
    *(f"%r = OpSubgroup{name}KHR %bool %true" for name in ("All", "Any", "AllEqual")),
]

WRONG = [
    *(
        (f"%r = OpSubgroupBallotKHR %{type_} %true", "vector of four 32-bit integers")
        for type_ in ("uint", "v2uint", "v3uint", "v4float", "bool")
    ),
    ("%r = OpSubgroupBallotKHR %v4uint %uint_1", "predicate must be a Boolean"),
    *(
        (f"%r = OpSubgroup{name} %{type_} %{value}{index}", "scalar of a 32-bit integer or float")
        for name, index in (("FirstInvocationKHR", ""), ("ReadInvocationKHR", " %uint_1"))
        for type_, value in (
            ("v2uint", "pair"),
            ("bool", "true"),
            ("ulong", "ulong_1"),
            ("double", "double_1"),
        )
    ),
    ("%r = OpSubgroupFirstInvocationKHR %uint %float_1", "of the result's type"),
    ("%r = OpSubgroupReadInvocationKHR %float %uint_1 %uint_1", "of the result's type"),
    ("%r = OpSubgroupReadInvocationKHR %uint %uint_1 %float_1", "index must be an integer"),
    *((f"%r = OpSubgroup{name}KHR %bool %uint_1", "predicate") for name in ("All", "Any", "AllEqual")),
    *((f"%r = OpSubgroup{name}KHR %uint %true", "result type") for name in ("All", "Any", "AllEqual")),
]

WIDE = "OpCapability Int64\nOpCapability Float64\n" + BOTH
WIDE_TYPES = """%ulong = OpTypeInt 64 0
%ulong_1 = OpConstant %ulong 1
%double = OpTypeFloat 64
%double_1 = OpConstant %double 1"""


@pytest.mark.parametrize("code", RIGHT)
def test_types_of_the_document_are_valid_before_and_after(code: str) -> None:
    made = module(code, capabilities=BOTH)
    validate(made)
    lowered = lower_legacy(made)
    validate(lowered)
    assert all(name.startswith("OpGroupNonUniform") for name in names(lowered))


@pytest.mark.parametrize(("code", "reason"), WRONG)
def test_other_types_are_refused(code: str, reason: str) -> None:
    with pytest.raises(InvalidModule, match=reason):
        validate(module(code, capabilities=WIDE, declarations=WIDE_TYPES))


@pytest.mark.parametrize("type_", ["uint", "v3uint", "v4float"])
def test_masks_of_other_types_are_refused(type_: str) -> None:
    with pytest.raises(InvalidModule, match="4-component"):
        validate(mask_module("SubgroupLeMaskKHR", type_))


# Lowering -----------------------------------------------------------------------------------------------

DYNAMIC = """%mask = OpLoad %v4uint %variable
%index = OpCompositeExtract %uint %mask 1
%r = OpSubgroupReadInvocationKHR %float %float_1 %index"""


def dynamic(target: TargetEnvironment, code: str = DYNAMIC) -> Module:
    """Assemble a shader that reads an invocation whose index is no constant."""
    return module(
        code,
        interface="%variable",
        decorations="OpDecorate %variable BuiltIn SubgroupEqMaskKHR",
        declarations="%pointer = OpTypePointer Input %v4uint\n%variable = OpVariable %pointer Input",
        target=target,
    )


def test_each_instruction_becomes_its_own() -> None:
    code = "\n".join(line.replace("%r", f"%r{number}") for number, line in enumerate(RIGHT))
    made = lower_legacy(module(code, capabilities=BOTH))
    ballot, first, read = (
        "OpGroupNonUniformBallot",
        "OpGroupNonUniformBroadcastFirst",
        "OpGroupNonUniformBroadcast",
    )
    votes = [f"OpGroupNonUniform{name}" for name in ("All", "Any", "AllEqual")]
    assert names(made) == [ballot] * 2 + [first] * 3 + [read] * 4 + votes
    capabilities = made.reflection.capabilities
    assert capabilities == {"Shader", "GroupNonUniform", "GroupNonUniformBallot", "GroupNonUniformVote"}
    assert not made.reflection.extensions


def test_an_index_that_is_no_constant_is_a_shuffle_before_spirv_1_5() -> None:
    made = lower_legacy(dynamic(TargetEnvironment.VULKAN_1_1))
    assert names(made) == ["OpGroupNonUniformShuffle"]
    assert "GroupNonUniformShuffle" in made.reflection.capabilities
    validate(made)


def test_an_index_that_is_no_constant_is_a_broadcast_from_spirv_1_5_on() -> None:
    made = lower_legacy(dynamic(TargetEnvironment.VULKAN_1_2))
    assert names(made) == ["OpGroupNonUniformBroadcast"]
    assert "GroupNonUniformShuffle" not in made.reflection.capabilities
    validate(made, TargetEnvironment.VULKAN_1_2)


def test_a_signed_index_is_converted() -> None:
    code = DYNAMIC.replace("%r = ", "%signed = OpBitcast %int %index\n%r = ").replace("1 %index", "1 %signed")
    made = lower_legacy(dynamic(TargetEnvironment.VULKAN_1_1, code))
    validate(made)
    assert [i.name for i in made.instructions][-5:-2] == [
        "OpBitcast",
        "OpBitcast",
        "OpGroupNonUniformShuffle",
    ]


def test_a_module_of_spirv_1_0_becomes_one_of_1_3() -> None:
    made = module(RIGHT[0])
    assert made.version == (1, 0)
    assert lower_legacy(made).version == (1, 3)


def test_declared_capabilities_are_not_declared_again() -> None:
    both = "OpCapability GroupNonUniform\nOpCapability GroupNonUniformVote\n" + VOTE
    made = lower_legacy(
        module("%r = OpSubgroupAnyKHR %bool %true", capabilities=both, target=TargetEnvironment.VULKAN_1_1)
    )
    assert disassemble(made).count("OpCapability GroupNonUniform\n") == 1
    assert disassemble(made).count("OpCapability GroupNonUniformVote\n") == 1


def test_a_module_without_the_capabilities_stays_as_it_is() -> None:
    made = module("", capabilities="")
    assert lower_legacy(made) is made
    assert lower_legacy(lower_legacy(module(RIGHT[0], capabilities=BALLOT))) == lower_legacy(
        module(RIGHT[0], capabilities=BALLOT)
    )

"""SPIR-V assembly with one older ballot or vote instruction, for tests."""

from __future__ import annotations

from vkgroup.compiler import TargetEnvironment, assemble
from vkgroup.spirv import Module

_TEXT = """
OpCapability Shader
{capabilities}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" {interface}
OpExecutionMode %main LocalSize 8 1 1
{decorations}
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%uint_1 = OpConstant %uint 1
%int_1 = OpConstant %int 1
%float_1 = OpConstant %float 1
%true = OpConstantTrue %bool
%v2uint = OpTypeVector %uint 2
%v3uint = OpTypeVector %uint 3
%v4uint = OpTypeVector %uint 4
%v4int = OpTypeVector %int 4
%v4float = OpTypeVector %float 4
%pair = OpConstantComposite %v2uint %uint_1 %uint_1
{declarations}
%main = OpFunction %void None %function
%begin = OpLabel
{code}
OpReturn
OpFunctionEnd
"""

BALLOT = 'OpCapability SubgroupBallotKHR\nOpExtension "SPV_KHR_shader_ballot"'
VOTE = 'OpCapability SubgroupVoteKHR\nOpExtension "SPV_KHR_subgroup_vote"'
BOTH = (
    "OpCapability SubgroupBallotKHR\nOpCapability SubgroupVoteKHR\n"
    'OpExtension "SPV_KHR_shader_ballot"\nOpExtension "SPV_KHR_subgroup_vote"'
)


def module(
    code: str,
    *,
    capabilities: str = BALLOT,
    interface: str = "",
    decorations: str = "",
    declarations: str = "",
    target: TargetEnvironment = TargetEnvironment.VULKAN_1_0,
) -> Module:
    """Assemble a compute shader whose body is `code`."""
    text = _TEXT.format(
        code=code,
        capabilities=capabilities,
        interface=interface,
        decorations=decorations,
        declarations=declarations,
    )
    return assemble(text, target)


def mask_module(name: str, type_: str = "v4uint") -> Module:
    """Assemble a shader that loads a mask, declared with a type of the text's."""
    return module(
        f"%mask = OpLoad %{type_} %variable",
        interface="%variable",
        decorations=f"OpDecorate %variable BuiltIn {name}",
        declarations=f"%pointer = OpTypePointer Input %{type_}\n%variable = OpVariable %pointer Input",
    )

"""SPV_KHR_shader_ballot: the built-ins that its capability allows (3.21, BuiltIn)."""

from __future__ import annotations

import pytest
from legacy_assembly import BALLOT, module

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import compile_source, validate
from vkgroup.spirv import Module

BUILT_INS = {
    **{f"Subgroup{relation}MaskKHR": "v4uint" for relation in ("Eq", "Ge", "Gt", "Le", "Lt")},
    "SubgroupSize": "uint",
    "SubgroupLocalInvocationId": "uint",
}


def loading(name: str, capabilities: str) -> Module:
    """Assemble a SPIR-V 1.0 shader that loads a built-in."""
    type_ = BUILT_INS[name]
    return module(
        f"%found = OpLoad %{type_} %variable",
        capabilities=capabilities,
        interface="%variable",
        decorations=f"OpDecorate %variable BuiltIn {name}",
        declarations=f"%pointer = OpTypePointer Input %{type_}\n%variable = OpVariable %pointer Input",
    )


@pytest.mark.parametrize("name", BUILT_INS)
def test_built_ins_need_the_capability_and_no_other(name: str) -> None:
    validate(loading(name, BALLOT))
    with pytest.raises(InvalidModule, match=r"requires one of these capabilities.*SubgroupBallotKHR"):
        validate(loading(name, ""))


def test_arbs_size_and_index_need_the_capability_alone() -> None:
    """gl_SubGroupSizeARB and gl_SubGroupInvocationARB of GL_ARB_shader_ballot."""
    source = """#version 450
    #extension GL_ARB_shader_ballot : require
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) buffer Results { uint results[]; };
    void main() { results[gl_SubGroupInvocationARB] = gl_SubGroupSizeARB; }"""
    reflection = compile_source(source, stage="compute").reflection
    assert reflection.capabilities == {"Shader", "SubgroupBallotKHR"}
    assert "SPV_KHR_shader_ballot" in reflection.extensions

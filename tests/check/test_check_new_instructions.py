"""Instructions and modes newer than the compilers: poison and freeze, sizes that a shader asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.base.errors import NotValidated
from vkgroup.check import Report, check
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select

Written = Callable[..., Path]

_START = """#version 460
#extension GL_EXT_spirv_intrinsics : require
#define NEW extensions = ["SPV_KHR_poison_freeze"], capabilities = [5156]
spirv_execution_mode(NEW, 5157);
spirv_instruction(NEW, id = 5158) uint poison();
spirv_instruction(NEW, id = 5159) uint freeze(uint x);
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer A { uint a[]; };
void main() { uint i = gl_GlobalInvocationID.x; %s }
"""


def _checked(written: Written, text: str) -> Report:
    with pytest.warns(NotValidated):
        return check(written(text))


def test_poison_is_undefined(written: Written) -> None:
    (finding,) = _checked(written, _START % "a[i] = poison() + 1u;").findings
    assert finding.kind == "undefined"


def test_control_flow_may_not_depend_on_poison(written: Written) -> None:
    (finding,) = _checked(written, _START % "if (poison() > 3u) a[i] = 1u; else a[i] = 2u;").findings
    assert finding.kind == "undefined"


def test_a_frozen_value_is_arbitrary_and_stable(written: Written) -> None:
    report = _checked(written, _START % "uint x = freeze(poison()); a[i] = x - x; if (x > 3u) a[i] = 0u;")
    assert report.findings == ()
    assert report.covered.ordered == report.covered.compared + report.covered.ordered == 256


def test_freezing_a_defined_value_changes_nothing(written: Written) -> None:
    report = _checked(written, _START % "a[i] = freeze(i) * 2u;")
    assert report.findings == ()
    assert (report.covered.compared, report.covered.ordered) == (256, 0)


@pytest.mark.parametrize(("mode", "size"), [(4507, "half the largest"), (4508, "the largest")])
def test_a_size_that_the_shader_asks_for_is_a_note(mode: int, size: str, written: Written) -> None:
    shader = f"""#version 460
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_QCOM_subgroup_size"], capabilities = [4506], {mode});
layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer A {{ uint a[]; }};
void main() {{ a[gl_GlobalInvocationID.x] = 1u; }}
"""
    notes = _checked(written, shader).covered.notes
    assert any(f"have {size} size of the device" in note for note in notes)


# Debug information whose first instruction refers to the second.
_FORWARD = """
    OpCapability Shader
    OpExtension "SPV_KHR_non_semantic_info"
    OpExtension "SPV_KHR_relaxed_extended_instruction"
    %info = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %id %a
    OpExecutionMode %main LocalSize 64 1 1
    %name = OpString "uint"
    OpDecorate %id BuiltIn GlobalInvocationId
    OpDecorate %array ArrayStride 4
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %block Block
    OpDecorate %a DescriptorSet 0
    OpDecorate %a Binding 0
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %uint = OpTypeInt 32 0
    %zero = OpConstant %uint 0
    %bits = OpConstant %uint 32
    %unsigned = OpConstant %uint 6
    %storage_class = OpConstant %uint 12
    %pointer_type = OpExtInstWithForwardRefsKHR %void %info DebugTypePointer %type %storage_class %zero
    %type = OpExtInst %void %info DebugTypeBasic %name %bits %unsigned %zero
    %vec3 = OpTypeVector %uint 3
    %vec3_pointer = OpTypePointer Input %vec3
    %uint_pointer = OpTypePointer Input %uint
    %id = OpVariable %vec3_pointer Input
    %array = OpTypeRuntimeArray %uint
    %block = OpTypeStruct %array
    %pointer = OpTypePointer StorageBuffer %block
    %element = OpTypePointer StorageBuffer %uint
    %a = OpVariable %pointer StorageBuffer
    %main = OpFunction %void None %function
    %label = OpLabel
    %at = OpAccessChain %uint_pointer %id %zero
    %x = OpLoad %uint %at
    %p = OpAccessChain %element %a %zero %x
    %v = OpLoad %uint %p
    %twice = OpIAdd %uint %v %v
    OpStore %p %twice
    OpReturn
    OpFunctionEnd
"""


def test_debug_information_with_forward_references_has_no_effect(
    lavapipe: CachedDriver, written: Written
) -> None:
    report = check(written(_FORWARD, "forward.spvasm"), devices=[select(lavapipe.name)])
    assert report.findings == ()
    assert not report.covered.not_covered
    assert report.covered.compared == 256

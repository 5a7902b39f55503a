"""Findings of executing fuzzing in the reference device, one test each."""

from __future__ import annotations

import random

import numpy as np
import pytest
from execution_mutant import Mutant
from execution_mutations import MUTATIONS

import vkgroup
from vkgroup.base.errors import OutOfMemory
from vkgroup.base.sampler import Sampler
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, disassemble, validate
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.spans import FloatFormat, Span
from vkgroup.spirv import Module


def compiled(source: str) -> Module:
    return compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2)


def flipped(module: Module) -> Module:
    """Return a module with int and uint exchanged."""
    mutant = Mutant(module)
    assert MUTATIONS["scalar type"](mutant, random.Random(0))
    result = mutant.module()
    validate(result, TargetEnvironment.VULKAN_1_2)
    return result


def test_built_ins_may_be_signed_integers() -> None:
    source = """#version 450
        #extension GL_KHR_shader_subgroup_basic : require
        layout(local_size_x = 8, local_size_y = 4) in;
        layout(binding = 0) buffer Data { uint data[]; };
        void main() {
            uvec3 at = gl_GlobalInvocationID;
            uvec3 sum = at * 3u + gl_LocalInvocationID + gl_WorkGroupID * gl_NumWorkGroups;
            uint value = sum.x + sum.y * 64u + gl_SubgroupInvocationID + gl_SubgroupID * gl_SubgroupSize;
            data[at.x + 16u * at.y] = value * 5u - gl_LocalInvocationIndex;
        }"""
    module = compiled(source)
    other = flipped(module)
    assert module != other
    with vkgroup.open("reference:16") as device:
        results = [
            device.run(each, (2, 1), {"Data": np.zeros(64, dtype)})
            for each, dtype in ((module, np.uint32), (other, np.int32))
        ]
    assert [result.events for result in results] == [(), ()]
    assert results[0]["Data"].any()
    assert (results[0]["Data"].view(np.uint32) == results[1]["Data"].view(np.uint32)).all()


def test_a_switch_may_have_cases_that_no_value_reaches() -> None:
    text = """
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main"
               OpExecutionMode %main LocalSize 1 1 1
               OpDecorate %array ArrayStride 4
               OpMemberDecorate %Data 0 Offset 0
               OpDecorate %Data BufferBlock
               OpDecorate %data DescriptorSet 0
               OpDecorate %data Binding 0
       %void = OpTypeVoid
   %function = OpTypeFunction %void
       %uint = OpTypeInt 32 0
          %0 = OpConstant %uint 0
          %7 = OpConstant %uint 7
          %9 = OpConstant %uint 9
      %array = OpTypeRuntimeArray %uint
       %Data = OpTypeStruct %array
    %pointer = OpTypePointer Uniform %Data
       %data = OpVariable %pointer Uniform
    %element = OpTypePointer Uniform %uint
       %main = OpFunction %void None %function
      %start = OpLabel
     %target = OpAccessChain %element %data %0 %0
   %selector = OpLoad %uint %target
               OpSelectionMerge %end None
               OpSwitch %selector %end 2 %first 2 %second
      %first = OpLabel
               OpStore %target %7
               OpBranch %end
     %second = OpLabel
               OpStore %target %9
               OpBranch %end
        %end = OpLabel
               OpReturn
               OpFunctionEnd
    """
    module = assemble(text.replace("%0 ", "%zero ").replace("%0\n", "%zero\n"), "1.1")
    with vkgroup.open("reference") as device:
        result = device.run(module, 1, {0: np.full(1, 2, np.uint32)})
    assert result[0][0] in (7, 9)


@pytest.mark.parametrize("index", ["at", "gl_LocalInvocationIndex"])
def test_an_image_atomic_at_undefined_coordinates_is_reported(index: str) -> None:
    source = f"""#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0, r32ui) uniform uimage1D counters;
        void main() {{ uint at; imageAtomicAdd(counters, int({index}), 1u); }}"""
    with vkgroup.open("reference") as device:
        result = device.run(compiled(source), 1, {"counters": np.zeros(8, np.uint32)})
    messages = [event.message for event in result.events if event.kind == "undefined"]
    expected = ["the coordinates of an image atomic are undefined"] * (index == "at")
    assert [message for message in messages if "coordinates" in message] == expected


def test_a_load_at_undefined_coordinates_is_undefined() -> None:
    source = """#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0, r32ui) uniform uimage1D numbers;
        layout(binding = 1) buffer Data { uint data[]; };
        void main() { uint at; data[gl_LocalInvocationIndex] = imageLoad(numbers, int(at)).x; }"""
    arrays = {"numbers": np.zeros(8, np.uint32), "Data": np.zeros(8, np.uint32)}
    with vkgroup.open("reference") as device:
        result = device.run(compiled(source), 1, arrays)
    assert result.defined is not None
    assert not result.defined["Data"].any()


def test_a_constant_index_outside_of_an_array_of_descriptors_is_reported() -> None:
    source = """#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) readonly buffer Table { uint table[]; } tables[4];
        layout(binding = 1) buffer Data { uint data[]; };
        void main() { data[gl_LocalInvocationIndex] = tables[3].table[0]; }"""
    text = disassemble(compiled(source))
    changed = text.replace("OpConstant %int 3", "OpConstant %int 7")
    assert changed != text
    arrays = {"tables": [np.full(1, n, np.uint32) for n in range(4)], "Data": np.zeros(8, np.uint32)}
    with vkgroup.open("reference") as device:
        assert (device.run(assemble(text, TargetEnvironment.VULKAN_1_2), 1, arrays)["Data"] == 3).all()
        result = device.run(assemble(changed, TargetEnvironment.VULKAN_1_2), 1, arrays)
    (event,) = result.events
    assert event.message == "the index 7 lies outside of an array of 4 descriptors"
    assert result.defined is not None
    assert not result.defined["Data"].any()


@pytest.mark.parametrize(("address", "is_defined"), [("repeat", False), ("clamp_to_edge", True)])
def test_repeated_images_far_away_are_undefined(address: str, is_defined: bool) -> None:
    """One float there is more than a texel from the next: the texel depends on rounding."""
    source = """#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform sampler1D row;
        layout(binding = 1) buffer Data { float data[]; };
        void main() {
            float at = exp2(4.0 * float(gl_LocalInvocationIndex));
            data[gl_LocalInvocationIndex] = textureLod(row, at, 0.0).x;
        }"""
    image = (np.arange(16, dtype=np.float32), Sampler(address=address))
    with vkgroup.open("reference") as device:
        result = device.run(compiled(source), 1, {"row": image, "Data": np.zeros(8, np.float32)})
    assert result.defined is not None
    # 16 texels times 2²⁰ is 2²⁴, from which on floats are two apart.
    assert (result.defined["Data"] == (is_defined or np.arange(8) < 5)).all()


def test_a_sum_of_ranges_broadcasts_its_terms() -> None:
    one, many = Span(np.ones(1), np.ones(1)), Span(np.zeros((3, 4)), np.ones((3, 4)))
    total = FloatFormat(24, 2.0**-126, 3.4e38, half=False).sum([one, many, one])
    assert total.low.shape == total.high.shape == (3, 4)
    assert (total.low <= 2).all()
    assert (total.high >= 3).all()


def test_memory_for_variables_that_the_host_lacks_is_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError("no 8 GiB")

    monkeypatch.setattr(ExecutableShader, "_code", exhausted)
    with pytest.raises(OutOfMemory, match="no 8 GiB"):
        ExecutableShader(compiled("#version 450\nlayout(local_size_x = 1) in; void main() {}"))

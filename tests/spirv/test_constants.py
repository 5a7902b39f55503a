"""Specialization constants, constant expressions, and the workgroup sizes that depend on them."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, validate
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.spirv import Module, ScalarType
from vkgroup.spirv.editor import Editor
from vkgroup.spirv.interface import LocalSize


def glsl(text: str, **options: object) -> Module:
    return compile_source(f"#version 460\n{text}", stage="compute", **options)  # type: ignore[arg-type]


def local_size(module: Module) -> LocalSize:
    size = module.reflection.entry_points[0].local_size
    assert size is not None
    return size


def test_every_type_with_its_default() -> None:
    module = glsl(
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "layout(constant_id = 9) const bool flag = true;\n"
        "layout(constant_id = 8) const bool off = false;\n"
        "layout(constant_id = 0) const int negative = -3;\n"
        "layout(constant_id = 1) const uint large = 4000000000u;\n"
        "layout(constant_id = 2) const float half_ = 0.5;\n"
        "layout(constant_id = 3) const double third = 0.333333333333333314829616256247;\n"
        "layout(constant_id = 4) const int64_t wide = -5000000000L;\n"
        "layout(constant_id = 5) const uint64_t wider = 18446744073709551615UL;\n"
        "layout(constant_id = 6) const int16_t narrow = -7s;\n"
        "layout(constant_id = 7) const float16_t tiny = 1.5hf;\n"
        "void main() {}"
    )
    result = module.reflection.specialization_constants
    assert [(c.id, c.name, c.type.glsl, c.default) for c in result] == [
        (0, "negative", "int", -3),
        (1, "large", "uint", 4000000000),
        (2, "half_", "float", 0.5),
        (3, "third", "double", 1 / 3),
        (4, "wide", "int64_t", -5000000000),
        (5, "wider", "uint64_t", 18446744073709551615),
        (6, "narrow", "int16_t", -7),
        (7, "tiny", "float16_t", 1.5),
        (8, "off", "bool", False),
        (9, "flag", "bool", True),
    ]
    assert [type(c.default) for c in result[-2:]] == [bool, bool]


def test_literal_local_size() -> None:
    size = local_size(
        glsl("layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;\nvoid main() {}")
    )
    assert (size.is_specializable, size.resolve()) == (False, (8, 4, 2))
    assert size.resolve({0: 99}) == (8, 4, 2)


@pytest.mark.parametrize("target", list(TargetEnvironment))
def test_specialized_local_size(target: TargetEnvironment) -> None:
    size = local_size(
        glsl(
            "layout(local_size_x_id = 0, local_size_y = 3, local_size_z_id = 5) in;\nvoid main() {}",
            target=target,
        )
    )
    assert size.is_specializable
    assert size.resolve() == (1, 3, 1)
    assert size.resolve({0: 64, 5: 2}) == (64, 3, 2)
    assert size.resolve({5: 7, 1: 9}) == (1, 3, 7)


LOCAL_SIZE_ID = """
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionModeId %main LocalSizeId %x %y %z
    OpDecorate %n SpecId 4
    OpDecorate %x SpecId 2
    %void = OpTypeVoid
    %uint = OpTypeInt 32 0
    %three = OpConstant %uint 3
    %n = OpSpecConstant %uint 10
    %x = OpSpecConstant %uint 16
    %y = OpSpecConstantOp %uint IMul %n %three
    %z = OpConstant %uint 2
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %entry = OpLabel
    OpReturn
    OpFunctionEnd
"""


def test_local_size_id() -> None:
    module = assemble(LOCAL_SIZE_ID, TargetEnvironment.VULKAN_1_3)
    validate(module, TargetEnvironment.VULKAN_1_3)
    size = local_size(module)
    assert size.source == "LocalSizeId"
    assert size.resolve() == (16, 30, 2)
    assert size.resolve({4: 5, 2: 32}) == (32, 15, 2)


def test_local_size_mode() -> None:
    text = LOCAL_SIZE_ID.replace(
        "OpExecutionModeId %main LocalSizeId %x %y %z", "OpExecutionMode %main LocalSize 9 8 7"
    )
    size = local_size(assemble(text))
    assert (size.source, size.is_specializable, size.resolve({2: 5})) == ("LocalSize", False, (9, 8, 7))


def test_workgroup_size_built_in_overrides_the_mode() -> None:
    text = LOCAL_SIZE_ID.replace(
        "OpExecutionModeId %main LocalSizeId %x %y %z", "OpExecutionMode %main LocalSize 1 1 1"
    )
    text = text.replace(
        "OpDecorate %n SpecId 4", "OpDecorate %n SpecId 4\nOpDecorate %size BuiltIn WorkgroupSize"
    )
    text = text.replace(
        "%z = OpConstant %uint 2",
        "%z = OpConstant %uint 2\n%vector = OpTypeVector %uint 3\n"
        "%size = OpSpecConstantComposite %vector %x %y %z",
    )
    module = assemble(text, TargetEnvironment.VULKAN_1_3)
    validate(module, TargetEnvironment.VULKAN_1_3)
    size = local_size(module)
    assert (size.source, size.resolve({4: 1})) == ("WorkgroupSize", (16, 3, 2))


def test_stages_without_workgroups_have_no_local_size() -> None:
    module = compile_source("#version 460\nvoid main() {}", stage="vertex")
    assert module.reflection.entry_points[0].local_size is None


def test_task_and_mesh_have_a_local_size() -> None:
    source = "#version 460\n#extension GL_EXT_mesh_shader : require\nlayout(local_size_x = 5) in;\n"
    task = compile_source(
        source + "void main() { EmitMeshTasksEXT(1, 1, 1); }",
        stage="task",
        target=TargetEnvironment.VULKAN_1_2,
    )
    mesh = compile_source(
        source + "layout(triangles, max_vertices = 3, max_primitives = 1) out;\nvoid main() {}",
        stage="mesh",
        target=TargetEnvironment.VULKAN_1_2,
    )
    assert local_size(task).resolve() == local_size(mesh).resolve() == (5, 1, 1)
    assert mesh.reflection.entry_points[0].execution_modes["OutputVertices"] == (3,)


def test_array_length_from_a_specialization_constant() -> None:
    module = glsl(
        "layout(constant_id = 3) const uint N = 6;\nlayout(binding = 0) buffer B { uint a[2]; } b;\n"
        "shared uint scratch[N + 2];\nvoid main() { scratch[0] = b.a[0]; b.a[1] = scratch[1]; }"
    )
    assert module.reflection.workgroup_memory == 32
    assert module.reflection.shared_memory({3: 100}) == 408


def expression(operation: str, *values: int, signed: bool, bits: int) -> int:
    """Evaluate an OpSpecConstantOp as a dimension of the workgroup."""
    names = " ".join(f"%v{index}" for index in range(len(values)))
    mask = (1 << bits) - 1
    constants = "".join(
        f"%v{index} = OpConstant %type {value if signed else value & mask}\n"
        for index, value in enumerate(values)
    )
    text = LOCAL_SIZE_ID.replace(
        "%three = OpConstant %uint 3",
        f"%three = OpConstant %uint 3\n%type = OpTypeInt {bits} {int(signed)}\n{constants}"
        if bits != 32 or signed
        else f"%three = OpConstant %uint 3\n{constants.replace('%type', '%uint')}",
    )
    kind = "%type" if bits != 32 or signed else "%uint"
    text = text.replace(
        "%y = OpSpecConstantOp %uint IMul %n %three", f"%y = OpSpecConstantOp {kind} {operation} {names}"
    )
    return local_size(assemble(text, TargetEnvironment.VULKAN_1_3)).resolve()[1]


SIGNED = st.integers(-(2**31), 2**31 - 1)
UNSIGNED = st.integers(0, 2**32 - 1)


@given(a=SIGNED, b=SIGNED)
def test_signed_operations_agree_with_numpy(a: int, b: int) -> None:
    left, right = np.int32(a), np.int32(b)
    with np.errstate(over="ignore"):
        assert expression("IAdd", a, b, signed=True, bits=32) == left + right
        assert expression("ISub", a, b, signed=True, bits=32) == left - right
        assert expression("IMul", a, b, signed=True, bits=32) == left * right
        assert expression("SNegate", a, signed=True, bits=32) == -left
        assert expression("BitwiseXor", a, b, signed=True, bits=32) == left ^ right
        if b != 0 and (a, b) != (-(2**31), -1):
            assert expression("SDiv", a, b, signed=True, bits=32) == math.trunc(a / b)
            assert expression("SRem", a, b, signed=True, bits=32) == np.fmod(left, right)
            assert expression("SMod", a, b, signed=True, bits=32) == np.mod(left, right)


@given(a=UNSIGNED, b=UNSIGNED, shift=st.integers(0, 31))
def test_unsigned_operations_agree_with_numpy(a: int, b: int, shift: int) -> None:
    left, right = np.uint32(a), np.uint32(b)
    assert expression("BitwiseAnd", a, b, signed=False, bits=32) == left & right
    assert expression("BitwiseOr", a, b, signed=False, bits=32) == left | right
    assert expression("Not", a, signed=False, bits=32) == ~left
    assert expression("ShiftLeftLogical", a, shift, signed=False, bits=32) == left << np.uint32(shift)
    assert expression("ShiftRightLogical", a, shift, signed=False, bits=32) == left >> np.uint32(shift)
    assert expression("ShiftRightArithmetic", a, shift, signed=False, bits=32) == np.uint32(
        np.int64(left.astype(np.int32)) >> shift & 0xFFFFFFFF
    )
    if b:
        assert expression("UDiv", a, b, signed=False, bits=32) == left // right
        assert expression("UMod", a, b, signed=False, bits=32) == left % right


def test_division_by_zero_is_invalid() -> None:
    with pytest.raises(InvalidModule, match="OpUDiv"):
        expression("UDiv", 1, 0, signed=False, bits=32)


def test_selection_and_comparison() -> None:
    text = LOCAL_SIZE_ID.replace("%void = OpTypeVoid", "%void = OpTypeVoid\n%bool = OpTypeBool").replace(
        "%y = OpSpecConstantOp %uint IMul %n %three",
        "%less = OpSpecConstantOp %bool ULessThan %n %x\n%y = OpSpecConstantOp %uint Select %less %n %three",
    )
    size = local_size(assemble(text, TargetEnvironment.VULKAN_1_3))
    assert size.resolve() == (16, 10, 2)
    assert size.resolve({4: 17}) == (16, 3, 2)


def test_float_expression_is_no_size() -> None:
    text = LOCAL_SIZE_ID.replace(
        "%y = OpSpecConstantOp %uint IMul %n %three", "%f = OpTypeFloat 32\n%y = OpConstant %f 1.0"
    )
    with pytest.raises(InvalidModule, match="not three integers"):
        _ = assemble(text, TargetEnvironment.VULKAN_1_3).reflection


def test_deep_expressions_are_refused() -> None:
    chain = "".join(f"%c{i + 1} = OpSpecConstantOp %uint IAdd %c{i} %c{i}\n" for i in range(200))
    text = LOCAL_SIZE_ID.replace(
        "%z = OpConstant %uint 2", f"%z = OpConstant %uint 2\n%c0 = OpCopyObject\n{chain}"
    )
    text = text.replace("%c0 = OpCopyObject\n", "%c0 = OpConstant %uint 1\n")
    with pytest.raises(InvalidModule, match="nested deeper"):
        _ = assemble(text, TargetEnvironment.VULKAN_1_3).reflection


def test_shared_operands_are_evaluated_once() -> None:
    # 2^60 additions, were each operand evaluated for each use.
    chain = "".join(f"%c{i + 1} = OpSpecConstantOp %uint IAdd %c{i} %c{i}\n" for i in range(60))
    text = LOCAL_SIZE_ID.replace(
        "%y = OpSpecConstantOp %uint IMul %n %three", f"%c0 = OpConstant %uint 1\n{chain}"
    )
    text = text.replace("LocalSizeId %x %y %z", "LocalSizeId %x %c30 %z")
    assert local_size(assemble(text, TargetEnvironment.VULKAN_1_3)).resolve()[1] == 2**30


def test_scalar_types() -> None:
    assert ScalarType("bool", 1).size is None
    assert ScalarType("bool", 1).glsl == "bool"
    assert ScalarType("bool", 1).dtype == np.bool_
    assert ScalarType("BFloat16KHR", 16).dtype == np.dtype("V2")


_SHARED = """
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const {type} BLOCK_SIZE = {value};
layout(constant_id = 1) const uint OTHER = 7u;
shared uint values[BLOCK_SIZE];
void main() {{ values[gl_LocalInvocationIndex] = OTHER + gl_WorkGroupSize.x; }}
"""


def _without_names(module: Module) -> Module:
    return Editor(module).rewrite({"OpName": lambda editor, words: []})


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_3])
@pytest.mark.parametrize("named", [True, False])
def test_constants_with_one_id_have_one_default(target: TargetEnvironment, named: bool) -> None:
    source = _SHARED.format(type="uint", value="32u")
    module = compile_source("#version 460\n" + source, stage="compute", target=target)
    module = module if named else _without_names(module)
    constants = module.reflection.specialization_constants
    assert {(entry.id, entry.default) for entry in constants} == {(0, 32), (1, 7)}
    assert {(entry.id, entry.overridden_default) for entry in constants} == {(0, None), (0, 1), (1, None)}
    assert local_size(module).resolve() == (32, 1, 1)
    assert local_size(module).resolve({0: 8}) == (8, 1, 1)
    assert module.reflection.workgroup_memory == 128
    values, data = pack_specialization(constants, {})
    assert (values, data) == ({0: 32}, {0: struct.pack("<I", 32)})
    assert pack_specialization(constants, {0: 16})[0] == {0: 16}
    if named:
        assert pack_specialization(constants, {"BLOCK_SIZE": 16})[0] == {0: 16}


def test_a_default_of_another_integer_type_keeps_its_bits() -> None:
    module = glsl(_SHARED.replace("[BLOCK_SIZE]", "[4]").format(type="int", value="32"))
    values, data = pack_specialization(module.reflection.specialization_constants, {})
    assert (values, data) == ({0: 32}, {0: struct.pack("<i", 32)})
    assert local_size(module).resolve() == (32, 1, 1)


def test_constants_of_different_kinds_keep_their_defaults() -> None:
    module = glsl(_SHARED.replace("[BLOCK_SIZE]", "[4]").format(type="float", value="32.0"))
    assert pack_specialization(module.reflection.specialization_constants, {}) == ({}, {})
    assert local_size(module).resolve() == (1, 1, 1)

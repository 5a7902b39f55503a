"""Descriptor bindings: every kind, arrays of them, names, and their readers and writers."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, validate
from vkgroup.spirv import Binding, ImageType, OpaqueType, SampledImageType, StructType


def bindings(
    source: str, *, stage: str = "compute", target: TargetEnvironment = TargetEnvironment.VULKAN_1_1
) -> dict[str, Binding]:
    module = compile_source(f"#version 460\n{source}", stage=stage, target=target)
    return {binding.name: binding for binding in module.reflection.bindings}


@pytest.mark.parametrize(
    ("declaration", "kind", "glsl"),
    [
        ("buffer B { uint a; } x", "storage_buffer", "B"),
        ("uniform B { uint a; } x", "uniform_buffer", "B"),
        ("uniform sampler2D x", "combined_image_sampler", "sampler2D"),
        ("uniform isampler3D x", "combined_image_sampler", "isampler3D"),
        ("uniform sampler2DArray x", "combined_image_sampler", "sampler2DArray"),
        ("uniform texture2D x", "sampled_image", "texture2D"),
        ("uniform utextureCube x", "sampled_image", "utextureCube"),
        ("uniform texture2DMS x", "sampled_image", "texture2DMS"),
        ("uniform sampler x", "sampler", "sampler"),
        ("uniform samplerBuffer x", "uniform_texel_buffer", "samplerBuffer"),
        ("uniform textureBuffer x", "uniform_texel_buffer", "textureBuffer"),
    ],
)
@pytest.mark.parametrize(
    "target", [TargetEnvironment.VULKAN_1_0, TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_3]
)
def test_kinds(declaration: str, kind: str, glsl: str, target: TargetEnvironment) -> None:
    result = bindings(f"layout(set = 3, binding = 7) {declaration};\nvoid main() {{}}", target=target)
    binding = result["x"]
    assert (binding.set, binding.binding, binding.kind, binding.count) == (3, 7, kind, 1)
    # SPIR-V 1.6 has no sampler in a texel buffer; the descriptor is the same.
    assert binding.type.glsl in (glsl, glsl.replace("samplerBuffer", "textureBuffer"))


@pytest.mark.parametrize(
    ("declaration", "kind", "dimension", "texel_format"),
    [
        ("rgba32f) uniform image2D", "storage_image", "2D", "Rgba32f"),
        ("r32ui) uniform uimage3D", "storage_image", "3D", "R32ui"),
        ("r32i) uniform iimage1D", "storage_image", "1D", "R32i"),
        ("rgba8) uniform imageCube", "storage_image", "Cube", "Rgba8"),
        ("r32ui) uniform uimageBuffer", "storage_texel_buffer", "Buffer", "R32ui"),
    ],
)
def test_storage_images(declaration: str, kind: str, dimension: str, texel_format: str) -> None:
    binding = bindings(f"layout(binding = 0, {declaration} x;\nvoid main() {{}}")["x"]
    assert isinstance(binding.type, ImageType)
    assert (binding.kind, binding.type.dimension, binding.type.format) == (kind, dimension, texel_format)
    assert binding.type.storage
    assert binding.type.glsl == declaration.split()[-1]


def test_image_without_format() -> None:
    binding = bindings(
        "#extension GL_EXT_shader_image_load_formatted : require\n"
        "layout(binding = 0) uniform image2DArray x;\nvoid main() { vec4 v = imageLoad(x, ivec3(0)); }"
    )["x"]
    assert isinstance(binding.type, ImageType)
    assert (binding.type.format, binding.type.arrayed) == ("Unknown", True)


def test_input_attachment() -> None:
    binding = bindings(
        "layout(input_attachment_index = 1, binding = 4) uniform subpassInputMS x;\n"
        "layout(location = 0) out vec4 color;\nvoid main() { color = subpassLoad(x, 0); }",
        stage="fragment",
    )["x"]
    assert (binding.kind, binding.binding, binding.read, binding.writable) == (
        "input_attachment",
        4,
        True,
        False,
    )
    assert binding.type.glsl == "subpassInputMS"


def test_acceleration_structure() -> None:
    binding = bindings(
        "#extension GL_EXT_ray_query : require\n"
        "layout(binding = 2) uniform accelerationStructureEXT x;\n"
        "void main() { rayQueryEXT q; rayQueryInitializeEXT(q, x, 0, 255, vec3(0), 0, vec3(1), 1); }"
    )["x"]
    assert (binding.kind, binding.type) == (
        "acceleration_structure",
        OpaqueType("accelerationStructureEXT"),
    )


def test_arrays_of_descriptors() -> None:
    result = bindings(
        "#extension GL_EXT_nonuniform_qualifier : require\n"
        "layout(binding = 0) uniform sampler2D fixed_[3];\n"
        "layout(binding = 1) uniform sampler2D open_[];\n"
        "layout(binding = 2) buffer B { uint a; } blocks[5];\n"
        "void main() { blocks[4].a = uint(textureLod(open_[gl_LocalInvocationIndex], vec2(0), 0).x); }"
    )
    assert (result["fixed_"].count, result["open_"].count, result["blocks"].count) == (3, None, 5)
    assert isinstance(result["fixed_"].type, SampledImageType)
    assert isinstance(result["blocks"].type, StructType)
    assert (result["blocks"].written, result["fixed_"].written) == (True, False)


def test_names_and_order() -> None:
    module = compile_source(
        "#version 460\n"
        "layout(set = 1, binding = 0) buffer Last { uint a; } named;\n"
        "layout(set = 0, binding = 5) buffer Middle { uint b; };\n"
        "layout(set = 0, binding = 1) buffer First { uint c; } first;\n"
        "void main() { named.a = b + first.c; }",
        stage="compute",
    )
    reflection = module.reflection
    assert [(b.set, b.binding, b.name, b.block_name) for b in reflection.bindings] == [
        (0, 1, "first", "First"),
        (0, 5, "Middle", "Middle"),
        (1, 0, "named", "Last"),
    ]
    assert reflection.binding("Middle") is reflection.binding(5) is reflection.binding((0, 5))
    assert reflection.binding((1, 0)).name == "named"
    with pytest.raises(KeyError):
        reflection.binding((1, 1))


ACCESS = """
layout(set = 0, binding = 0) readonly buffer R { uint v[]; } declared_readonly;
layout(set = 0, binding = 1) writeonly buffer W { uint v[]; } declared_writeonly;
layout(set = 0, binding = 2) buffer A { uint v[]; } only_read;
layout(set = 0, binding = 3) buffer S { uint v[]; } only_stored;
layout(set = 0, binding = 4) buffer T { uint v[]; } atomic;
layout(set = 0, binding = 5) buffer U { uint v[]; } unused;
layout(set = 0, binding = 6) uniform C { uint v; } constants;
layout(set = 0, binding = 7, r32ui) uniform uimage2D image_stored;
layout(set = 0, binding = 8, r32ui) uniform uimage2D image_read;
layout(set = 0, binding = 9, r32ui) uniform uimage2D image_atomic;
layout(set = 0, binding = 10, r32ui) uniform uimage2D image_unused;
layout(set = 0, binding = 11) buffer N { uint n; uint v[]; } length_only;
layout(set = 0, binding = 12) buffer F { uint v[4]; uint w[4]; } through_function;
uint first(uint values[4]) { return values[0]; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint read = only_read.v[i] + declared_readonly.v[i] + constants.v + imageLoad(image_read, ivec2(0)).x;
    uint chosen = i > 3 ? read : only_read.v[0];
    only_stored.v[i] = chosen + length_only.v.length() + first(through_function.w);
    declared_writeonly.v[i] = read;
    atomicAdd(atomic.v[0], 1);
    imageStore(image_stored, ivec2(0), uvec4(0));
    imageAtomicMax(image_atomic, ivec2(0), 3);
}
"""


@pytest.mark.parametrize("optimize", [False, "performance", "size"])
def test_who_reads_and_writes(optimize: str | bool) -> None:
    module = compile_source(f"#version 460\n{ACCESS}", stage="compute", optimize=optimize)
    result = {binding.name: binding for binding in module.reflection.bindings}
    assert {name: (b.readable, b.writable, b.read, b.written) for name, b in result.items()} == {
        "declared_readonly": (True, False, True, False),
        "declared_writeonly": (False, True, False, True),
        "only_read": (True, True, True, False),
        "only_stored": (True, True, False, True),
        "atomic": (True, True, True, True),
        "unused": (True, True, False, False),
        "constants": (True, False, True, False),
        "image_stored": (True, True, False, True),
        "image_read": (True, True, True, False),
        "image_atomic": (True, True, True, True),
        "image_unused": (True, True, False, False),
        "length_only": (True, True, False, False),
        "through_function": (True, True, True, False),
    }


def test_partly_readonly_block_is_writable() -> None:
    result = bindings(
        "layout(binding = 0) buffer B { readonly uint a; uint b; } x;\nvoid main() { x.b = x.a; }"
    )
    assert (result["x"].readable, result["x"].writable) == (True, True)
    members = result["x"].type.members
    assert [(m.readable, m.writable) for m in members] == [(True, False), (True, True)]


def test_image_passed_to_a_function_counts_as_read_and_written() -> None:
    result = bindings(
        "layout(binding = 0) uniform writeonly uimage2D x;\n"
        "void store(writeonly uimage2D image) { imageStore(image, ivec2(0), uvec4(1)); }\n"
        "void main() { store(x); }"
    )
    assert (result["x"].read, result["x"].written) == (True, True)
    assert (result["x"].readable, result["x"].writable) == (False, True)


VARIABLE_POINTERS = """
    OpCapability Shader
    OpCapability VariablePointers
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionMode %main LocalSize 1 1 1
    OpName %a "a"
    OpName %b "b"
    OpName %c "c"
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %a DescriptorSet 0
    OpDecorate %a Binding 0
    OpDecorate %b DescriptorSet 0
    OpDecorate %b Binding 1
    OpDecorate %c DescriptorSet 0
    OpDecorate %c Binding 2
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %zero = OpConstant %uint 0
    %block = OpTypeStruct %uint
    %to_block = OpTypePointer StorageBuffer %block
    %to_uint = OpTypePointer StorageBuffer %uint
    %true = OpConstantTrue %bool
    %a = OpVariable %to_block StorageBuffer
    %b = OpVariable %to_block StorageBuffer
    %c = OpVariable %to_block StorageBuffer
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %entry = OpLabel
    %in_a = OpAccessChain %to_uint %a %zero
    %in_b = OpAccessChain %to_uint %b %zero
    %in_c = OpAccessChain %to_uint %c %zero
    %chosen = OpSelect %to_uint %true %in_a %in_b
    OpStore %chosen %zero
    %value = OpLoad %uint %in_c
    OpReturn
    OpFunctionEnd
"""


def test_variable_pointers_count_for_all_they_may_point_to() -> None:
    # Up to SPIR-V 1.3, an entry point lists inputs and outputs only.
    module = assemble(VARIABLE_POINTERS, TargetEnvironment.VULKAN_1_1)
    validate(module)
    result = {b.name: (b.read, b.written) for b in module.reflection.bindings}
    assert result == {"a": (True, True), "b": (True, True), "c": (True, False)}


def test_buffer_block_of_spirv_1_0_is_a_storage_buffer() -> None:
    result = bindings(
        "layout(binding = 0) buffer B { uint a; } x;\nlayout(binding = 1) uniform U { uint a; } y;\n"
        "void main() { x.a = y.a; }",
        target=TargetEnvironment.VULKAN_1_0,
    )
    assert (result["x"].kind, result["y"].kind) == ("storage_buffer", "uniform_buffer")
    assert (result["x"].written, result["x"].writable, result["y"].writable) == (True, True, False)


def test_variable_of_no_pointer_type_is_invalid() -> None:
    text = VARIABLE_POINTERS.replace(
        "%c = OpVariable %to_block StorageBuffer", "%c = OpVariable %uint StorageBuffer"
    )
    module = assemble(text)
    with pytest.raises(InvalidModule, match="is not a pointer"):
        _ = module.reflection

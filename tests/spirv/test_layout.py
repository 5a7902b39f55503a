"""Layouts of blocks: offsets, strides, sizes and rules, against std140, std430 and scalar."""

from __future__ import annotations

import pytest

from vkgroup.compiler import compile_source
from vkgroup.spirv import (
    ArrayType,
    Binding,
    MatrixType,
    Reflection,
    ScalarType,
    StructType,
    VectorType,
)

INT, UINT, FLOAT = ScalarType("int", 32), ScalarType("uint", 32), ScalarType("float", 32)


def reflect(declarations: str, use: str, *, extensions: str = "") -> Reflection:
    enabled = "".join(f"#extension {name} : require\n" for name in extensions.split())
    source = f"#version 460\n{enabled}layout(local_size_x = 1) in;\n{declarations}\nvoid main() {{ {use} }}"
    return compile_source(source, stage="compute").reflection


def block(layout: str, members: str, use: str = "", *, structs: str = "", extensions: str = "") -> Binding:
    declared = f"{structs}\nlayout({layout} B {{ {members} }} b;"
    return reflect(declared, use, extensions=extensions).bindings[0]


def layout_of(binding: Binding) -> dict[str, tuple[int | None, int | None]]:
    assert isinstance(binding.type, StructType)
    return {member.name: (member.offset, member.size) for member in binding.type.members}


def test_std140_against_std430() -> None:
    members = "float a; vec3 b; float c; float d[3]; vec2 e; mat3 f; float g;"
    std140 = block("binding = 0, std140) uniform", members)
    std430 = block("binding = 0, std430) buffer", members)
    # The sizes and offsets are those of OpenGL 4.6 §7.6.2.2, rules 1 to 10, worked out by hand.
    assert layout_of(std140) == {
        "a": (0, 4),
        "b": (16, 12),
        "c": (28, 4),
        "d": (32, 48),
        "e": (80, 8),
        "f": (96, 48),
        "g": (144, 4),
    }
    assert layout_of(std430) == {
        "a": (0, 4),
        "b": (16, 12),
        "c": (28, 4),
        "d": (32, 12),
        "e": (48, 8),
        "f": (64, 48),
        "g": (112, 4),
    }
    assert (std140.layout, std430.layout) == ("std140", "std430")
    assert (std140.type.size, std430.type.size) == (148, 116)


def test_scalar_layout_is_told_apart() -> None:
    extension = "GL_EXT_scalar_block_layout"
    scalar = block("binding = 0, scalar) buffer", "float a; vec3 b; vec3 c;", extensions=extension)
    assert layout_of(scalar) == {"a": (0, 4), "b": (4, 12), "c": (16, 12)}
    # Relaxed block layout, part of Vulkan 1.1, lets these stand in std140 as well.
    assert scalar.layout == "std140"
    straddling = block("binding = 0, scalar) buffer", "vec3 a; vec3 b;", extensions=extension)
    assert layout_of(straddling) == {"a": (0, 12), "b": (12, 12)}
    assert straddling.layout == "scalar"
    tight = block("binding = 0, scalar) buffer", "vec3 a[2];", extensions=extension)
    assert tight.type.members[0].type.stride == 12
    assert tight.layout == "scalar"


def test_uniform_buffer_in_std430_is_told() -> None:
    tight = block("binding = 0, std430) uniform", "float a[4];", extensions="GL_EXT_scalar_block_layout")
    assert tight.kind == "uniform_buffer"
    assert tight.layout == "std430"


def test_nested_structures() -> None:
    structs = "struct Inner { vec3 p; float q; }; struct Outer { Inner i[2]; int n; };"
    binding = block("binding = 3, set = 2, std430) buffer", "Outer o[3]; uint tail;", structs=structs)
    assert (binding.set, binding.binding, binding.name, binding.block_name) == (2, 3, "b", "B")
    outer_array = binding.type["o"].type
    assert isinstance(outer_array, ArrayType)
    assert (outer_array.length, outer_array.stride) == (3, 48)
    outer = outer_array.element
    assert isinstance(outer, StructType)
    assert outer.name == outer.glsl == "Outer"
    assert outer["n"].offset == 32
    inner = outer["i"].type.element
    assert (inner["p"].type, inner["p"].offset) == (VectorType(FLOAT, 3), 0)
    assert (inner["q"].type, inner["q"].offset) == (FLOAT, 12)
    assert binding.type["tail"].offset == 144
    assert binding.type.size == 148
    with pytest.raises(KeyError):
        binding.type["absent"]


def test_matrices_of_both_majors() -> None:
    members = "mat4x3 c; layout(row_major) mat4x3 r; dmat2x3 d; layout(row_major) mat2 a[5];"
    binding = block("binding = 0, std430) buffer", members)
    c, r, d, a = binding.type.members
    assert c.type == r.type == MatrixType(VectorType(FLOAT, 3), 4)
    assert (c.row_major, c.matrix_stride, c.size) == (False, 16, 64)
    assert (r.row_major, r.matrix_stride, r.size) == (True, 16, 48)
    assert (r.offset, d.offset) == (64, 128)
    assert (d.type.glsl, d.matrix_stride, d.size) == ("dmat2x3", 32, 64)
    assert (a.row_major, a.matrix_stride, a.type.stride, a.size) == (True, 8, 16, 80)
    assert binding.layout == "std430"


def test_arrays_of_arrays_and_runtime_arrays() -> None:
    binding = block("binding = 0, std430) buffer", "int n; vec2 grid[2][3]; uint tail[];")
    grid, tail = binding.type["grid"], binding.type["tail"]
    assert grid.type.glsl == "vec2[2][3]"
    assert (grid.offset, grid.size) == (8, 48)
    assert (grid.type.stride, grid.type.element.stride) == (24, 8)
    assert tail.type == ArrayType(UINT, None, 4)
    assert tail.type.glsl == "uint[]"
    assert binding.type.size is None
    assert binding.type.fixed_size == 56
    assert binding.type.runtime_array == tail
    assert block("binding = 0) buffer", "int a;").type.runtime_array is None


@pytest.mark.parametrize(
    ("glsl", "size"),
    [
        ("float", 4),
        ("double", 8),
        ("int", 4),
        ("uint", 4),
        ("int8_t", 1),
        ("uint8_t", 1),
        ("int16_t", 2),
        ("uint16_t", 2),
        ("int64_t", 8),
        ("uint64_t", 8),
        ("float16_t", 2),
        ("vec2", 8),
        ("vec4", 16),
        ("dvec3", 24),
        ("ivec3", 12),
        ("uvec4", 16),
        ("i8vec2", 2),
        ("u8vec4", 4),
        ("i16vec3", 6),
        ("u16vec2", 4),
        ("i64vec2", 16),
        ("u64vec4", 32),
        ("f16vec3", 6),
        ("mat2", 16),
        ("mat3x4", 48),
        ("dmat4", 128),
    ],
)
def test_every_type_has_its_glsl_name_and_size(glsl: str, size: int) -> None:
    binding = block(
        "binding = 0, std430) buffer",
        f"{glsl} value;",
        extensions="GL_EXT_shader_explicit_arithmetic_types GL_EXT_shader_16bit_storage "
        "GL_EXT_shader_8bit_storage",
    )
    (member,) = binding.type.members
    assert member.type.glsl == glsl
    assert member.size == size
    scalar = getattr(member.type, "component", getattr(member.type, "column", member.type))
    scalar = getattr(scalar, "component", scalar)
    assert scalar.dtype.itemsize == scalar.size == scalar.bits // 8
    assert scalar.dtype.kind == {"float": "f", "int": "i", "uint": "u"}[scalar.kind]


def test_push_constants() -> None:
    reflection = reflect(
        "layout(push_constant) uniform P { layout(offset = 16) vec4 a; uint b; "
        "layout(offset = 64) mat2 m; } p;",
        "uint x = p.b;",
    )
    push = reflection.push_constants
    assert push is not None
    assert (push.name, push.offset, push.size, push.layout) == ("p", 16, 80, "std430")
    assert [(member.name, member.offset) for member in push.members] == [("a", 16), ("b", 32), ("m", 64)]
    assert reflection.bindings == ()


def test_push_constants_without_instance_name_are_called_after_their_block() -> None:
    push = reflect("layout(push_constant) uniform P { float a; };", "float x = a;").push_constants
    assert push is not None
    assert (push.name, push.size) == ("P", 4)
    assert reflect("", "").push_constants is None


def test_buffer_reference_is_an_address() -> None:
    reflection = reflect(
        "layout(buffer_reference) buffer Node;\n"
        "layout(buffer_reference, std430) buffer Node { uint value; Node next; };\n"
        "layout(push_constant) uniform P { Node first; } p;",
        "p.first.next.value = 1;",
        extensions="GL_EXT_buffer_reference",
    )
    push = reflection.push_constants
    assert push is not None
    assert push.size == 8
    assert push.members[0].type.size == 8
    assert "PhysicalStorageBufferAddresses" in reflection.capabilities
    assert reflection.memory_model == ("PhysicalStorageBuffer64", "GLSL450")


@pytest.mark.parametrize(
    ("declaration", "size"),
    [
        ("shared uint a[64];", 256),
        ("shared vec3 a; shared float b;", 16),
        ("shared vec3 a[4];", 64),
        ("shared bool a[3];", 12),
        ("struct S { vec3 p; uint8_t q; }; shared S a[2];", 32),
        ("shared mat3 a;", 48),
        ("layout(constant_id = 1) const uint N = 5; shared uint a[N * 2 + 1];", 44),
    ],
)
def test_workgroup_memory(declaration: str, size: int) -> None:
    first = "a[0]" if "a[" in declaration else "a"
    reflection = reflect(
        declaration, f"{first} = {first};", extensions="GL_EXT_shader_explicit_arithmetic_types"
    )
    assert reflection.workgroup_memory == size

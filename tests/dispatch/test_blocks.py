"""Values packed by a block's layout, and arrays checked against it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from vkgroup.base.errors import InvalidDispatch
from vkgroup.compiler import compile_source
from vkgroup.dispatch.blocks import check_array, pack_push
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.spirv import PushConstants, Reflection, StructType


def reflect(declarations: str, body: str = "", extensions: str = "") -> Reflection:
    source = (
        f"#version 460\n{extensions}\nlayout(local_size_x = 1) in;\n{declarations}\nvoid main() {{ {body} }}"
    )
    return compile_source(source, stage="compute").reflection


def push_of(members: str, extensions: str = "") -> PushConstants:
    push = reflect(
        f"layout(push_constant) uniform P {{ {members} }} p;", extensions=extensions
    ).push_constants
    assert push is not None
    return push


def block_of(members: str, layout: str = "std430") -> StructType:
    found = reflect(f"layout({layout}, binding = 0) buffer B {{ {members} }} b;").bindings[0].type
    assert isinstance(found, StructType)
    return found


# --- push constants -----------------------------------------------------------------------------------


def test_members_go_to_their_offsets() -> None:
    push = push_of("float a; vec3 b; uint c; ivec2 d;")
    data = pack_push(push, {"a": 1.5, "b": (1, 2, 3), "c": 7, "d": [-1, -2]})
    assert data == struct.pack("<f12x3fI2i", 1.5, 1, 2, 3, 7, -1, -2)


def test_arrays_and_structures_are_packed() -> None:
    push = push_of("float a[3]; uint end;")
    assert pack_push(push, {"a": [1, 2, 3], "end": 4}) == struct.pack("<3fI", 1, 2, 3, 4)
    reflection = reflect("struct S { uint x; vec2 y; };\nlayout(push_constant) uniform P { uint n; S s; } p;")
    data = pack_push(reflection.push_constants, {"n": 1, "s": {"x": 2, "y": (3, 4)}})
    assert data == struct.pack("<I4xI4x2f", 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [("", (1, 2, 0, 0, 3, 4, 0, 0)), ("layout(row_major) ", (1, 3, 2, 4))],
)
def test_matrices_are_arrays_of_columns(qualifier: str, expected: tuple[int, ...]) -> None:
    push = push_of(f"{qualifier}mat2 m;" if qualifier else "layout(offset = 0) mat2x2 m; vec4 end[1];")
    values: dict[str, Any] = {"m": [[1, 2], [3, 4]]}
    if not qualifier:
        values["end"] = [[0, 0, 0, 0]]
        expected = (1, 2, 3, 4, 0, 0, 0, 0)
    assert pack_push(push, values) == struct.pack(f"<{len(expected)}f", *expected)


def test_small_types_are_packed_and_padded_to_words() -> None:
    push = push_of(
        "uint8_t a; uint16_t b; uint8_t c;", "#extension GL_EXT_shader_explicit_arithmetic_types : require"
    )
    assert pack_push(push, {"a": 1, "b": 2, "c": 3}) == struct.pack("<BxHBxxx", 1, 2, 3)


@pytest.mark.parametrize(
    "value",
    [
        struct.pack("<2I", 3, 4),
        bytearray(struct.pack("<2I", 3, 4)),
        np.array([3, 4], np.uint32),
        [3, 4],
        {"a": 3, "b": 4},
        {"a": np.uint32(3), "b": np.int64(4)},
    ],
)
def test_bytes_arrays_numbers_and_mappings_are_the_same(value: object) -> None:
    assert pack_push(push_of("uint a, b;"), value) == struct.pack("<2I", 3, 4)


def test_a_single_number_is_enough_for_a_single_member() -> None:
    assert pack_push(push_of("float a;"), 2) == struct.pack("<f", 2.0)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, r"has push constants \(first, second\)"),
        ({"first": 1}, "lack a value for: second"),
        ({"first": 1, "second": 2, "thrid": 3}, "no member 'thrid'"),
        ({"first": 1, "secnd": 2}, "Did you mean 'second'"),
        ({"first": -1, "second": 2}, "uint32.*-1"),
        ({"first": 1 << 32, "second": 2}, "takes uint32"),
        ({"first": 1.5, "second": 2}, "uint32.*1.5"),
        ({"first": (1, 2), "second": 2}, r"has the shape of a scalar; the value has \(2,\)"),
        ({"first": "one", "second": 2}, "takes numbers"),
        (b"1234", "have 8 bytes; 4 were given"),
        (np.zeros(3, np.uint32), "have 8 bytes; 12 were given"),
        (np.zeros(2, np.float32), "holds uint32; the array given is float32"),
    ],
)
def test_what_does_not_fit_is_said(value: object, reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        pack_push(push_of("uint first, second;"), value)


def test_push_constants_of_a_module_without_any_are_surplus() -> None:
    assert pack_push(None, None) == b""
    with pytest.raises(InvalidDispatch, match="declares none"):
        pack_push(None, b"1234")


# --- specialization -----------------------------------------------------------------------------------

CONSTANTS = reflect(
    "layout(constant_id = 3) const int count = 5; layout(constant_id = 4) const bool fast = false;\n"
    "layout(constant_id = 5) const float scale = 1.0; layout(binding = 0) buffer B { float x; };",
    "if (fast) x = scale * count;",
).specialization_constants


def test_specialization_goes_by_name_or_id_with_the_right_bytes() -> None:
    values, data = pack_specialization(CONSTANTS, {"count": -7, 4: True, "scale": 2})
    assert values == {3: -7, 4: True, 5: 2.0}
    assert data == {3: struct.pack("<i", -7), 4: struct.pack("<I", 1), 5: struct.pack("<f", 2.0)}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"cuont": 1}, "no specialization constant 'cuont'.*Did you mean 'count'"),
        ({-1: 1}, "no specialization constant -1"),
        ({True: 1}, "no specialization constant True"),
        ({1 << 32: 1}, "no specialization constant 4294967296"),
        ({"count": 1.5}, "int32.*1.5"),
        ({"count": 1 << 31}, "takes int32"),
        ({"scale": "big"}, "takes numbers"),
        ({"count": [1, 2]}, "is a scalar"),
    ],
)
def test_wrong_specialization_is_said(values: dict[int | str, object], reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        pack_specialization(CONSTANTS, values)


def test_an_id_that_the_module_does_not_have_has_no_effect() -> None:
    assert pack_specialization(CONSTANTS, {9: 1, 3: 2}) == ({3: 2}, {3: struct.pack("<i", 2)})


# --- arrays against blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "array"),
    [
        ("float x[];", np.zeros(5, np.float32)),
        ("vec4 x[];", np.zeros((5, 4), np.float32)),
        ("vec4 x[];", np.zeros((2, 5, 4), np.float32)),
        ("uint n; uint x[];", np.zeros(5, np.uint32)),
        ("float x[4];", np.zeros((2, 2), np.float32)),
        ("float x[4];", np.zeros(9, np.float32)),
        ("uint n; float x[];", np.zeros(8, np.uint8)),
        ("uint n; float x[];", np.zeros(1, [("n", "<u4"), ("x", "<f4", 3)])),
        ("vec3 x[];", np.zeros((7, 4), np.float32)),
    ],
)
def test_arrays_that_fit_pass(members: str, array: np.ndarray) -> None:
    check_array(array, block_of(members), "The binding 'b'")


@pytest.mark.parametrize(
    ("members", "array", "reason"),
    [
        (
            "float x[];",
            np.zeros(4),
            r"float32; the array given is float64. Use array.astype\(np.float32\)",
        ),
        ("uint x[];", np.zeros(4, np.int32), r"array.view\(np.uint32\)"),
        ("uint x[];", np.zeros(4, bool), r"given is bool. Use array.astype\(np.uint32\)"),
        ("float x[4];", np.zeros(3, np.float32), "has 16 bytes; the array given has 12"),
        (
            "vec4 x[];",
            np.zeros(6, np.float32),
            "elements of 16 bytes; the array given has 24",
        ),
        ("vec3 x[];", np.zeros((4, 3), np.float32), r"Give an array of shape \(…, 4\)"),
        ("uint n; uint x[];", np.zeros(1, np.uint32), "4 bytes before its last array and 4 for each"),
        ("uint n; float x[];", np.zeros(4, np.float32), r"several types \(float32, uint32\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(members: str, array: np.ndarray, reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        check_array(array, block_of(members), "The binding 'b'")


def test_std140_arrays_are_padded() -> None:
    block = block_of("float x[4];", "std140")
    check_array(np.zeros((4, 4), np.float32), block, "The binding 'b'")
    for shape in ((4,), (16,), (8, 2)):
        with pytest.raises(InvalidDispatch, match=r"shape \(…, 4\)"):
            check_array(np.zeros(shape, np.float32), block, "The binding 'b'")
    with pytest.raises(InvalidDispatch, match="has 64 bytes; the array given has 48"):
        check_array(np.zeros((3, 4), np.float32), block, "The binding 'b'")


OFFSET = "layout(offset = 16) vec3 a; float k; mat3 m;"
WIDE = "double z; float a;"
WHOLE = np.dtype(
    {"names": ["a", "k", "m"], "formats": [("f4", 3), "f4", ("f4", (3, 4))], "offsets": [16, 28, 32]}
)


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        (OFFSET, np.arange(20, dtype="f4").view(WHOLE)),
        (OFFSET, np.arange(20, dtype="f4")),
        (OFFSET, np.arange(20, dtype="f4").reshape(5, 4)),
        (OFFSET, np.arange(4, 20, dtype="f4")),
        (OFFSET, np.arange(4, 20, dtype="f4").view([("a", "f4", 3), ("k", "f4"), ("m", "f4", (3, 4))])),
    ],
)
def test_push_constants_with_an_offset_are_given_from_byte_0_or_from_their_first_member(
    declaration: str, value: np.ndarray
) -> None:
    packed = pack_push(push_of(declaration), value)
    assert packed[16:] == np.arange(4, 20, dtype="f4").tobytes()


def test_the_padding_at_the_end_of_a_record_of_push_constants_is_left_out() -> None:
    record = np.array((1, 2), np.dtype([("z", "f8"), ("a", "f4")], align=True))
    assert record.nbytes == 16
    assert pack_push(push_of(WIDE), record) == np.float64(1).tobytes() + np.float32(2).tobytes()

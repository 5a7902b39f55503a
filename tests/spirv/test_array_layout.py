"""Arrays with fields, and rows with padding, beside the layout of a block."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.compiler import compile_source
from vkgroup.dispatch.blocks import check_array
from vkgroup.dispatch.device import Device
from vkgroup.reference.execution import run as run_words
from vkgroup.spirv import StructType
from vkgroup.spirv.layout_text import dtype_text

HEAD = """#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
"""
SCALARS = {"float": "f4", "int": "i4", "uint": "u4", "double": "f8", "float16_t": "f2", "uint8_t": "u1"}
VECTORS = {"float": "vec", "int": "ivec", "uint": "uvec", "double": "dvec", "float16_t": "f16vec"}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with vkgroup.open("reference:4") as opened:
        yield opened


def block_of(declaration: str) -> StructType:
    module = compile_source(HEAD + declaration + "void main() {}", stage="compute")
    found = module.reflection.bindings[0].type
    assert isinstance(found, StructType)
    return found


class Members:
    """Members of a structure in GLSL, with an expression for each of their numbers in an order of its own."""

    def __init__(self, chosen: random.Random, name: str, depth: int = 0, major: str = "") -> None:
        self.major = major = major or chosen.choice(("row_major", "column_major"))
        self.structures, self.lines = "", ""
        self.reads: list[tuple[str, tuple[Any, ...]]] = []  # GLSL after the structure's name; NumPy's index
        for number in range(chosen.randint(1, 4)):
            field = f"m{number}"
            length = chosen.choice((0, 0, 2, 3))
            indices = [(f"[{n}]", (n,)) for n in range(length)] if length else [("", ())]
            suffix = f"[{length}]" if length else ""
            if depth < 2 and chosen.random() < 0.3:
                inner = Members(chosen, f"{name}{number}", depth + 1, major)
                self.structures += inner.structures + f"struct {name}{number} {{ {inner.lines} }};\n"
                self.lines += f"{name}{number} {field}{suffix}; "
                parts = inner.reads
            else:
                scalar = chosen.choice(list(SCALARS))
                kind = chosen.choice(("scalar", "vector", "matrix"))
                kind = "scalar" if scalar == "uint8_t" else kind
                kind = "vector" if kind == "matrix" and scalar not in ("float", "double") else kind
                rows, columns = chosen.randint(2, 4), chosen.randint(2, 4)
                if kind == "matrix":
                    type_ = f"{'d' if scalar == 'double' else ''}mat{columns}x{rows}"
                    parts = [
                        (f"[{c}][{r}]", (r, c) if "row" in major else (c, r))
                        for c in range(columns)
                        for r in range(rows)
                    ]
                elif kind == "vector":
                    type_, parts = f"{VECTORS[scalar]}{rows}", [(f"[{r}]", (r,)) for r in range(rows)]
                else:
                    type_, parts = scalar, [("", ())]
                self.lines += f"{type_} {field}{suffix}; "
            self.reads += [
                (f".{field}{glsl}{rest}", (field, *index, *place))
                for glsl, index in indices
                for rest, place in parts
            ]


def number_at(record: Any, index: tuple[Any, ...]) -> Any:
    """Return a number of a record; of an array's element with padding, the first."""
    for part in index:
        record = record[part]
    return record.reshape(-1)[0] if isinstance(record, np.ndarray) else record


def fill(array: np.ndarray) -> None:
    """Give every byte a value that keeps all floats finite."""
    raw = array.view(np.uint8).reshape(-1)
    raw[:] = np.arange(raw.size) % 59 + 1


@pytest.mark.parametrize("layout", ["std140", "std430", "scalar"])
@pytest.mark.parametrize("seed", range(12))
def test_a_shader_finds_the_fields_of_the_dtype_that_the_message_gives(
    layout: str, seed: int, device: Device
) -> None:
    members = Members(random.Random(f"{layout} {seed}"), "S")
    declaration = (
        f"{members.structures}struct T {{ {members.lines} }};\n"
        f"layout({layout}, {members.major}, binding = 0) readonly buffer B {{ T t[]; }};\n"
    )
    block = block_of(declaration)
    with pytest.raises(InvalidDispatch) as refused:
        check_array(np.zeros(2, [("other", "f4")]), block, "B")
    text = str(refused.value).rpartition("Use the dtype ")[2]
    array = np.zeros(3, eval(text, {"np": np}))
    fill(array)
    body = "".join(f"o[{n}] = double(t[1]{glsl});" for n, (glsl, _) in enumerate(members.reads))
    source = (
        f"{HEAD}{declaration}layout(std430, binding = 1) buffer O {{ double o[]; }};void main() {{ {body} }}"
    )
    result = device.run(
        device.compile(source), 1, {"B": array, "O": np.zeros(len(members.reads), np.float64)}
    )["O"]
    expected = [float(number_at(array[1], index)) for _, index in members.reads]
    assert result.tolist() == expected


def changes(dtype: np.dtype[Any]) -> Iterator[tuple[str, np.dtype[Any]]]:
    """Yield dtypes that differ from one in a single property."""
    assert dtype.names is not None
    assert dtype.fields is not None
    names = list(dtype.names)
    formats, offsets = [dtype.fields[name][0] for name in names], [dtype.fields[name][1] for name in names]
    same = {"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
    yield "size", np.dtype({**same, "itemsize": dtype.itemsize + 4})
    yield "name", np.dtype({**same, "names": ["other", *names[1:]]})
    if len(names) > 1:
        yield "missing", dtype[names[:-1]]
        yield "swapped", np.dtype({**same, "names": [names[1], names[0], *names[2:]]})
    moved = [*offsets[:-1], offsets[-1] + formats[-1].base.itemsize]
    yield "offset", np.dtype({**same, "offsets": moved, "itemsize": dtype.itemsize + 1024})
    for position, format_ in enumerate(formats):
        base, shape = format_.subdtype or (format_, ())
        if base.fields is None:
            swapped = base.newbyteorder() if base.itemsize > 1 else np.dtype("i1")
            for kind in (swapped, np.dtype({"f": "i", "i": "u", "u": "i"}[base.kind] + str(base.itemsize))):
                changed = [*formats[:position], np.dtype((kind, shape)), *formats[position + 1 :]]
                yield f"type of {names[position]}", np.dtype({**same, "formats": changed})


@pytest.mark.parametrize("seed", range(16))
def test_every_change_of_a_dtype_is_refused(seed: int) -> None:
    members = Members(random.Random(seed), "S")
    block = block_of(
        f"{members.structures}struct T {{ {members.lines} }};\n"
        f"layout(std430, {members.major}, binding = 0) buffer B {{ T t[]; }};"
    )
    element = block.members[0].type.element  # type: ignore[union-attr]
    right = np.dtype(eval(dtype_text(element, block.members[0].type.stride), {"np": np}))  # type: ignore[union-attr]
    check_array(np.zeros(2, right), block, "B")
    for what, wrong in changes(right):
        try:
            check_array(np.zeros(2, wrong), block, "B")
        except InvalidDispatch:
            continue
        pytest.fail(f"accepted: {what}")


MAT3 = "layout(std430, binding = 0) buffer B { mat3 m[]; };"
PAIR = "struct S { vec3 a; vec3 b; }; layout(std430, binding = 0) buffer B { S s[]; };"
ROWS = "layout(std430, row_major, binding = 0) buffer B { mat2x3 m[]; };"
WHOLE = "layout(std140, binding = 0) uniform B { mat3 m; };"
MIXED = "layout(std430, binding = 0) buffer B { float f; vec3 v; };"
HEADED = "layout(std430, binding = 0) buffer B { vec4 head; vec3 v[]; };"
COUNTED = "layout(std430, binding = 0) buffer B { float n; vec4 v[]; };"
NESTED = "layout(std430, binding = 0) buffer B { vec3 v[2][3]; };"
FLOATS = "layout(std140, binding = 0) buffer B { float f[]; };"


@pytest.mark.parametrize(
    ("declaration", "shape"),
    [
        (MAT3, (5, 3, 4)),
        (MAT3, (2, 5, 3, 4)),
        (MAT3, (5, 12)),
        (PAIR, (5, 2, 4)),
        (PAIR, (5, 8)),
        (ROWS, (5, 3, 2)),
        (ROWS, (30,)),
        (WHOLE, (3, 4)),
        (WHOLE, (12,)),
        (MIXED, (8,)),
        (FLOATS, (16, 4)),
        (MAT3, (15, 4)),
        (PAIR, (10, 4)),
        (NESTED, (2, 3, 4)),
        (NESTED, (6, 4)),
        (HEADED, (4, 4)),
        (COUNTED, (24,)),
        (COUNTED, (6, 4)),
        (FLOATS, (1, 4)),
    ],
)
def test_shapes_with_rows_as_long_as_the_strides_are_accepted(
    declaration: str, shape: tuple[int, ...]
) -> None:
    check_array(np.zeros(shape, np.float32), block_of(declaration), "B")


@pytest.mark.parametrize(
    ("declaration", "shape"),
    [
        *((MAT3, shape) for shape in ((4, 3, 3), (36,), (4, 9), (4, 4, 3), (3, 4, 3))),
        *((PAIR, shape) for shape in ((4, 2, 3), (4, 6), (24,), (8, 3), (4, 4, 2))),
        *((WHOLE, shape) for shape in ((4, 3), (3, 3), (2, 6), (9,))),
        *((MIXED, shape) for shape in ((4,), (2, 2), (100,))),
        *((HEADED, shape) for shape in ((16,), (8, 2), (7,))),
        *((COUNTED, shape) for shape in ((21,), (25,), (8, 3))),
        (NESTED, (2, 3, 3)),
        (NESTED, (24,)),
        *((FLOATS, shape) for shape in ((64,), (4,), (2, 2), (8, 2))),
    ],
)
def test_shapes_that_hide_the_padding_are_refused(declaration: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidDispatch, match="padding"):
        check_array(np.zeros(shape, np.float32), block_of(declaration), "B")


def test_bytes_are_taken_as_they_are() -> None:
    for declaration in (MAT3, PAIR, MIXED, FLOATS):
        check_array(np.zeros(6, "V16"), block_of(declaration), "B")
    several = block_of("layout(std430, binding = 0) buffer B { uint n; vec3 v; };")
    check_array(np.zeros(32, np.uint8), several, "B")


def test_fields_in_the_padding_and_components_as_fields_are_accepted() -> None:
    padded = np.dtype([("a", "f4", 3), ("gap", "u4"), ("b", "f4", 3), ("gap2", "u4")])
    check_array(np.zeros(4, padded), block_of(PAIR), "B")
    check_array(np.zeros(4, [("a", "f4", 4), ("b", "f4", 4)]), block_of(PAIR), "B")
    points = block_of("layout(std430, binding = 0) buffer B { vec2 p[]; };")
    check_array(np.zeros(4, [("x", "f4"), ("y", "f4")]), points, "B")
    with pytest.raises(InvalidDispatch, match="component"):
        check_array(np.zeros(4, [("x", "f4"), ("y", "i4")]), points, "B")


def test_one_record_is_a_whole_block() -> None:
    one = block_of("layout(std430, binding = 0) buffer B { uint n; float x[]; };")
    check_array(np.zeros(1, [("n", "u4"), ("x", "f4", 7)]), one, "B")
    with pytest.raises(InvalidDispatch, match="one record, and 2 were given"):
        check_array(np.zeros(2, [("n", "u4"), ("x", "f4", 7)]), one, "B")


OUTER = "struct I { vec3 p; float w; }; struct S { I i[2]; uint n; };"
RECORDS = OUTER + "layout(std430, binding = 0) buffer B { S s[]; };"
COLOUR = "struct S { vec3 p; uint c; }; layout(std430, binding = 0) buffer B { S s[]; };"
SAME = "struct S { float a; uint b; }; layout(std430, binding = 0) buffer B { S a[]; };"


def padded(*fields: Any) -> np.dtype[Any]:
    """Return a dtype of 48 bytes with a field at byte 0 and one at byte 32."""
    names, formats = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": [0, 32], "itemsize": 48})


@pytest.mark.parametrize(
    ("declaration", "array"),
    [
        ("layout(std430, binding = 0) buffer B { uint c[]; };", np.zeros(3, [(c, "u1") for c in "rgba"])),
        ("layout(std430, binding = 0) buffer B { float c[]; };", np.zeros(3, [("x", "f4"), ("y", "f4")])),
        (
            "layout(std430, binding = 0) buffer B { vec3 v[]; };",
            np.zeros(3, [("position", "f4", 3), ("gap", "f4")]),
        ),
        (COLOUR, np.zeros(3, [(("a title", "p"), "f4", 3), ("c", "u4")])),
        (COLOUR, np.zeros(3, [("p", "f4", 3), ("c", "u1", 4)])),
        (COLOUR, np.zeros(3, [("p", "V12"), ("c", "V4")])),
        (COLOUR, np.zeros(3, [("p", "f4", 3), ("c", "u4")]).view(np.recarray)),
        (RECORDS, np.zeros(3, padded(("i", ("f4", (2, 4))), ("n", "u4")))),
        (RECORDS, np.zeros(3, padded(("i", "V32"), ("n", "u4")))),
        (SAME, np.zeros(1, [("a", [("a", "f4"), ("b", "u4")], 5)])),
        (SAME, np.zeros(5, [("a", "f4"), ("b", "u4")])),
        (
            SAME,
            np.zeros(
                2,
                np.dtype({"names": ["a", "b", "raw"], "formats": ["f4", "u4", "V8"], "offsets": [0, 4, 0]}),
            ),
        ),
        (
            "struct S { vec2 z; float w[2]; }; layout(std430, binding = 0) buffer B { S s[]; };",
            np.zeros(3, [("z", "c8"), ("w", "f4", 2)]),
        ),
    ],
    ids=[
        "colours",
        "points",
        "vectors",
        "title",
        "bytes",
        "void",
        "recarray",
        "plain",
        "opaque",
        "whole",
        "element",
        "union",
        "complex",
    ],
)
def test_other_dtypes_with_the_same_layout_are_accepted(declaration: str, array: np.ndarray) -> None:
    check_array(array, block_of(declaration), "B")


@pytest.mark.parametrize(
    ("declaration", "array"),
    [
        (COLOUR, np.zeros(3, [("p", "f4", 3), ("c", "u1", 3), ("gap", "u1")])),
        (RECORDS, np.zeros(3, padded(("i", ("u4", (2, 4))), ("n", "u4")))),
        (ROWS, np.zeros((5, 2, 3), np.float32)),
        ("layout(std430, binding = 0) buffer B { vec3 v[]; };", np.zeros(4, [(c, "f4") for c in "xyz"])),
        ("layout(std430, binding = 0) buffer B { uint c[]; };", np.zeros(4, [(c, "u1") for c in "rgb"])),
        ("layout(std430, binding = 0) buffer B { float c[]; };", np.zeros(4, [("x", "f4"), ("n", "i4")])),
        (ROWS, np.zeros(5, [("m", "f4", (2, 3))])),
        (ROWS.replace("row_major", "column_major"), np.zeros(5, [("m", "f4", (4, 2))])),
    ],
)
def test_other_dtypes_with_another_layout_are_refused(declaration: str, array: np.ndarray) -> None:
    with pytest.raises(InvalidDispatch):
        check_array(array, block_of(declaration), "B")


@pytest.mark.parametrize(
    ("array", "right"),
    [
        (np.zeros((3, 4), np.float32), True),
        (np.zeros((4, 3), np.float32), False),
        (np.zeros((4, 3), np.int32), True),
        (np.zeros(12, np.float32), True),
        (np.zeros(3, [("v", "f4", 3), ("gap", "f4")]), True),
        (np.zeros(4, [("v", "f4", 3)]), False),
    ],
)
def test_buffers_and_the_reference_model_check_rows_of_the_type_of_the_block(
    array: np.ndarray, right: bool, device: Device
) -> None:
    source = (
        f"{HEAD}layout(std430, binding = 0) buffer B {{ vec3 v[]; }}; void main() {{ v[0] = vec3(1, 2, 3); }}"
    )
    module = device.compile(source)
    with device.buffer(array) as memory:
        for call in (
            lambda: device.run(module, 1, {"B": memory}),
            lambda: run_words(module.words, 1, {(0, 0): array}),
        ):
            if right:
                call()
            else:
                with pytest.raises(InvalidDispatch):
                    call()

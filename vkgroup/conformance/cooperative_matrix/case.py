"""Cases of cooperative matrices: element types, axes and names, and the shapes that a device lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.family import TableCase
from vkgroup.device import Capabilities, CooperativeMatrix
from vkgroup.reference import dtypes

Array = NDArray[Any]

USES = {"a": "A", "b": "B", "c": "Accumulator"}
"""Uses of a matrix in a product, with the suffix of GLSL's name for the use."""


@dataclass(frozen=True, slots=True)
class Component:
    """An element type."""

    name: str  # in case names
    vulkan: str  # name of the VkComponentTypeKHR, without prefix
    #: Name in GLSL. glslang 13 has no bfloat16 and no floats of 8 bits: shaders use float16_t, uint8_t and
    #: int8_t, which the module then replaces.
    glsl: str
    dtype: np.dtype[Any]  # of the numbers; float32 for an encoding that NumPy lacks
    digits: int  # bits of the significand; 0 for integers
    features: tuple[str, ...]  # needed to compute with the type and to have it in storage buffers
    encoding: str = ""  # SPIR-V's name of an encoding that NumPy lacks

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.digits > 0

    @property
    def is_bfloat16(self) -> bool:
        """Whether it is bfloat16, which allows only products and conversions."""
        return self.encoding == dtypes.BFLOAT16

    @property
    def is_float8(self) -> bool:
        """Whether it is a float of 8 bits, which allows only products and conversions."""
        return self.encoding in dtypes.FLOAT8

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return _size(self.encoding, self.dtype)

    def stored(self, numbers: Array) -> Array:
        """Return the numbers encoded as in memory, in a dtype of `size` bytes."""
        return dtypes.encoded(self.encoding, numbers) if self.encoding else numbers.astype(self.dtype)

    def read(self, memory: Array) -> Array:
        """Return the numbers decoded from memory, (…, bytes) uint8."""
        if self.encoding:
            return dtypes.decoded(self.encoding, memory.view(f"u{self.size}"))
        return memory.view(self.dtype)

    def rounded(self, numbers: Array) -> Array:
        """Return the numbers rounded once to the type, so that storing them does not change them."""
        return self.read(self.stored(numbers).view(np.uint8))


_STORAGE_FEATURES = {1: ("storageBuffer8BitAccess",), 2: ("storageBuffer16BitAccess",)}


def _size(encoding: str, dtype: np.dtype[Any]) -> int:
    return 1 if encoding in dtypes.FLOAT8 else 2 if encoding else dtype.itemsize


def _component(
    name: str, vulkan: str, glsl: str, code: str, digits: int, *features: str, encoding: str = ""
) -> Component:
    dtype = np.dtype(code)
    storage = _STORAGE_FEATURES.get(_size(encoding, dtype), ())
    return Component(name, vulkan, glsl, dtype, digits, (*features, *storage), encoding)


_FLOAT8 = "shaderFloat8", "shaderFloat8CooperativeMatrix"

# glslang 13.1.1 rejects matrices of double and of 64-bit integers.
_COMPONENTS = (
    _component("f16", "FLOAT16", "float16_t", "f2", 11, "shaderFloat16"),
    _component(
        "bf16",
        "BFLOAT16",
        "float16_t",
        "f4",
        8,
        "shaderBFloat16Type",
        "shaderBFloat16CooperativeMatrix",
        encoding=dtypes.BFLOAT16,
    ),
    _component("e4m3", "FLOAT8_E4M3", "uint8_t", "f4", 4, *_FLOAT8, encoding=dtypes.E4M3),
    _component("e5m2", "FLOAT8_E5M2", "int8_t", "f4", 3, *_FLOAT8, encoding=dtypes.E5M2),
    _component("f32", "FLOAT32", "float", "f4", 24),
    _component("s8", "SINT8", "int8_t", "i1", 0, "shaderInt8"),
    _component("u8", "UINT8", "uint8_t", "u1", 0, "shaderInt8"),
    _component("s16", "SINT16", "int16_t", "i2", 0, "shaderInt16"),
    _component("u16", "UINT16", "uint16_t", "u2", 0, "shaderInt16"),
    _component("s32", "SINT32", "int", "i4", 0),
    _component("u32", "UINT32", "uint", "u4", 0),
)

COMPONENTS: dict[str, Component] = {component.name: component for component in _COMPONENTS}
"""All element types by name."""

_BY_VULKAN = {component.vulkan: component.name for component in _COMPONENTS}


@dataclass(frozen=True, slots=True)
class Combination:
    """The types of A, B, C and the result of a product, and whether its accumulation saturates."""

    a: str
    b: str
    c: str
    result: str
    saturating: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the four types."""
        return self.a, self.b, self.c, self.result

    @property
    def name(self) -> str:
        """The name in case names: ``f16_f16_f32_f32``, ``s8_s8_s32_s32_saturating``."""
        return "_".join((*self.types, *(("saturating",) if self.saturating else ())))


_FLOATS = (
    ("f16", "f16", "f16"), ("f16", "f32", "f32"), ("f16", "f16", "f32"), ("f16", "f32", "f16"),
    ("bf16", "bf16", "bf16"), ("bf16", "f32", "f32"), ("f32", "f32", "f32"),
    ("e4m3", "f32", "f32"), ("e5m2", "f32", "f32"), ("e4m3", "f16", "f16"), ("e5m2", "f16", "f16"),
)  # fmt: skip

_INTEGERS = (
    *((a, b, c) for a in ("s8", "u8") for b in ("s8", "u8") for c in ("s32", "u32")),
    *((f"{sign}{bits}", f"{sign}{bits}", f"{sign}32") for bits in (16, 32) for sign in "su"),
)

COMBINATIONS: dict[str, Combination] = {
    combination.name: combination
    for combination in (
        *(Combination(factor, factor, c, result) for factor, c, result in _FLOATS),
        *(Combination(a, b, "f32", "f32") for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3"))),
        *(Combination(a, b, c, c, saturating) for a, b, c in _INTEGERS for saturating in (False, True)),
    )
}
"""Every combination that has cases, by name."""


@dataclass(frozen=True, slots=True)
class MatrixShape:
    """Rows and columns of a matrix; `inner` is the k of a product of matrices, else 0."""

    rows: int
    columns: int
    inner: int = 0

    def __str__(self) -> str:
        return "×".join(str(number) for number in (self.rows, self.columns, self.inner) if number)


class MatrixAxes(NamedTuple):
    """Axes of a case, which is executed in every shape that the device lists for its types."""

    topic: str  # key of its topic: ``"load"``, ``"multiply_add"``, …
    types: tuple[str, ...]  # names of `COMPONENTS`; for a product, the name of a combination
    variant: tuple[str, ...]  # further parts of the name, each a key of a table of the topic


MatrixCase = TableCase[MatrixAxes]


def matrix_case(topic: str, types: tuple[str, ...], variant: tuple[str, ...], sentence: str) -> MatrixCase:
    """Return a case."""
    return TableCase("cooperative_matrix", MatrixAxes(topic, types, variant), sentence)


def listed(capabilities: Capabilities) -> list[tuple[Combination, CooperativeMatrix]]:
    """Return the entries of the device's list that have subgroup scope and types with cases."""
    rows = []
    for row in capabilities.cooperative_matrices:
        types = (row.a_type, row.b_type, row.c_type, row.result_type)
        a, b, c, result = (_BY_VULKAN.get(name, "") for name in types)
        if row.scope == "SUBGROUP" and a and b and c and result:
            rows.append((Combination(a, b, c, result, row.saturating), row))
    return rows


def matrices(component: str, use: str, capabilities: Capabilities) -> tuple[MatrixShape, ...]:
    """Return the shapes in which a device lists matrices of a type and a use."""
    shapes = []
    for types, row in listed(capabilities):
        if use == "a" and types.a == component:
            shapes.append(MatrixShape(row.m, row.k))
        elif use == "b" and types.b == component:
            shapes.append(MatrixShape(row.k, row.n))
        elif use == "c" and component in (types.c, types.result):
            shapes.append(MatrixShape(row.m, row.n))
    return tuple(dict.fromkeys(shapes))


def matrices_of(case: MatrixCase, capabilities: Capabilities) -> tuple[MatrixShape, ...]:
    """Return the listed shapes of a case's one type, for the use that its variant begins with."""
    return matrices(case.axes.types[0], case.axes.variant[0], capabilities)


def need_of_matrix(case: MatrixCase) -> str:
    """Return a phrase for the kind of matrix that must be listed."""
    vulkan, use = COMPONENTS[case.axes.types[0]].vulkan, USES[case.axes.variant[0]]
    return f"a cooperative matrix of {vulkan} as {use} in subgroups"

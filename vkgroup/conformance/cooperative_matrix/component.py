"""The types that elements of cooperative matrices have, and the combinations of them that products have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.reference import bfloat16

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Component:
    """A type of elements.

    Attributes
    ----------
    name : in the names of cases.
    vulkan : of VkComponentTypeKHR, without prefix.
    glsl : in GLSL. The compiler knows no bfloat16: it is written as float16_t, and exchanged in the module.
    dtype : of the numbers; float32 for bfloat16.
    digits : bits of the significand; 0 for integers.
    features : that a device needs to compute with it, and to have it in storage buffers.
    """

    name: str
    vulkan: str
    glsl: str
    dtype: np.dtype[Any]
    digits: int
    features: tuple[str, ...]

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.digits > 0

    @property
    def is_bfloat16(self) -> bool:
        """Whether it is the type that no arithmetic but products and conversions takes."""
        return self.name == "bf16"

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 2 if self.is_bfloat16 else self.dtype.itemsize

    def stored(self, numbers: Array) -> Array:
        """Return numbers as memory holds them, in a dtype of `size` bytes."""
        return bfloat16.rounded(numbers) if self.is_bfloat16 else numbers.astype(self.dtype)

    def read(self, words: Array) -> Array:
        """Return the numbers of what memory holds, (…, bytes) uint8."""
        if self.is_bfloat16:
            return bfloat16.widened(words.view(np.uint16))
        return words.view(self.dtype)


_SMALL_STORAGE = {1: ("storageBuffer8BitAccess",), 2: ("storageBuffer16BitAccess",)}


def _component(name: str, vulkan: str, glsl: str, code: str, digits: int, *features: str) -> Component:
    size = 2 if name == "bf16" else np.dtype(code).itemsize
    return Component(name, vulkan, glsl, np.dtype(code), digits, (*features, *_SMALL_STORAGE.get(size, ())))


# glslang 13.1.1 refuses matrices of double and of 64-bit integers, and knows none of 8-bit floats.
_COMPONENTS = (
    _component("f16", "FLOAT16", "float16_t", "f2", 11, "shaderFloat16"),
    _component(
        "bf16", "BFLOAT16", "float16_t", "f4", 8, "shaderBFloat16Type", "shaderBFloat16CooperativeMatrix"
    ),
    _component("f32", "FLOAT32", "float", "f4", 24),
    _component("s8", "SINT8", "int8_t", "i1", 0, "shaderInt8"),
    _component("u8", "UINT8", "uint8_t", "u1", 0, "shaderInt8"),
    _component("s16", "SINT16", "int16_t", "i2", 0, "shaderInt16"),
    _component("u16", "UINT16", "uint16_t", "u2", 0, "shaderInt16"),
    _component("s32", "SINT32", "int", "i4", 0),
    _component("u32", "UINT32", "uint", "u4", 0),
)

COMPONENTS: dict[str, Component] = {component.name: component for component in _COMPONENTS}
"""All by name."""

BY_VULKAN: dict[str, Component] = {component.vulkan: component for component in _COMPONENTS}
"""All by Vulkan's name."""


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
        """As in the names of cases: ``f16_f16_f32_f32``, ``s8_s8_s32_s32_saturating``."""
        return "_".join((*self.types, *(("saturating",) if self.saturating else ())))


_FLOATS = (
    ("f16", ("f16", "f16")),
    ("f16", ("f32", "f32")),
    ("f16", ("f16", "f32")),
    ("f16", ("f32", "f16")),
    ("bf16", ("bf16", "bf16")),
    ("bf16", ("f32", "f32")),
    ("f32", ("f32", "f32")),
)

_INTEGERS = (
    *((a, b, c) for a in ("s8", "u8") for b in ("s8", "u8") for c in ("s32", "u32")),
    *((f"{sign}16", f"{sign}16", f"{sign}32") for sign in "su"),
    *((f"{sign}32", f"{sign}32", f"{sign}32") for sign in "su"),
)

COMBINATIONS: dict[str, Combination] = {
    combination.name: combination
    for combination in (
        *(Combination(kind, kind, *rest) for kind, rest in _FLOATS),
        *(Combination(a, b, c, c, sat) for a, b, c in _INTEGERS for sat in (False, True)),
    )
}
"""Every combination that has cases, by name."""

"""How a value of each GLSL type crosses a buffer of 32-bit words, in GLSL and in NumPy.

Inputs and results travel as `uint` words and are made into their type by conversions and bit casts,
so that a case needs the arithmetic type alone and no 8- or 16-bit storage feature. A value of C
components with W words each fills C × W planes of one word an invocation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.reference.types import GlslType

_COMPONENTS = "xyzw"

# Scalar name → (expression that reads it, expression that gives its words): {0} and {1} are words, {v} a value.
_SCALARS: dict[str, tuple[str, tuple[str, ...]]] = {
    "float": ("uintBitsToFloat({0})", ("floatBitsToUint({v})",)),
    "double": ("packDouble2x32(uvec2({0}, {1}))", ("unpackDouble2x32({v}).x", "unpackDouble2x32({v}).y")),
    "int": ("int({0})", ("uint({v})",)),
    "uint": ("{0}", ("{v}",)),
    "bool": ("({0} != 0u)", ("({v} ? 1u : 0u)",)),
    "int8_t": ("int8_t(int({0}))", ("uint(int({v}))",)),
    "uint8_t": ("uint8_t({0})", ("uint({v})",)),
    "int16_t": ("int16_t(int({0}))", ("uint(int({v}))",)),
    "uint16_t": ("uint16_t({0})", ("uint({v})",)),
    "int64_t": (
        "int64_t(packUint2x32(uvec2({0}, {1})))",
        ("unpackUint2x32(uint64_t({v})).x", "unpackUint2x32(uint64_t({v})).y"),
    ),
    "uint64_t": (
        "packUint2x32(uvec2({0}, {1}))",
        ("unpackUint2x32({v}).x", "unpackUint2x32({v}).y"),
    ),
    "float16_t": ("unpackFloat2x16({0}).x", ("packFloat2x16(f16vec2({v}, float16_t(0.0)))",)),
}


def words(type_: GlslType) -> int:
    """Return the 32-bit words of one component."""
    return 2 if type_.scalar.bits == 64 else 1


def planes(type_: GlslType) -> int:
    """Return the words of one value, which is the number of its planes."""
    return words(type_) * type_.components


def reader(type_: GlslType) -> str:
    """Return a GLSL function `T get_T(uint at)` that reads planes of `INPUT_STRIDE` words from `inputs`."""
    read, count = _SCALARS[type_.scalar.name][0], words(type_)
    components = []
    for component in range(type_.components):
        places = [f"inputs[at + {component * count + word}u * INPUT_STRIDE]" for word in range(count)]
        components.append(read.format(*places))
    return f"{type_.name} get_{type_.name}(uint at) {{ return {type_.name}({', '.join(components)}); }}"


def writer(type_: GlslType) -> str:
    """Return a GLSL function `void put(uint at, T v)` that writes planes of `INVOCATIONS` words to `outputs`."""
    write = _SCALARS[type_.scalar.name][1]
    lines = []
    for component in range(type_.components):
        value = "v" if type_.components == 1 else f"v.{_COMPONENTS[component]}"
        for word, expression in enumerate(write):
            plane = component * len(write) + word
            lines.append(f"outputs[at + {plane}u * INVOCATIONS] = {expression.format(v=value)};")
    return f"void put(uint at, {type_.name} v) {{ {' '.join(lines)} }}"


def to_planes(values: NDArray[Any], type_: GlslType) -> NDArray[np.uint32]:
    """Lay out values as the planes that `reader` reads and `writer` writes.

    Parameters
    ----------
    values : (invocations, components) in the type's dtype.

    Returns
    -------
    (components × words, invocations) uint32.
    """
    bits = type_.scalar.bits
    if type_.scalar.dtype == np.bool_:
        flat = values.astype(np.uint32)
    elif bits == 64:
        halves = np.ascontiguousarray(values).view(np.uint32).reshape(*values.shape, 2)
        return np.ascontiguousarray(halves.transpose(1, 2, 0)).reshape(-1, values.shape[0])
    elif type_.scalar.kind == "int":
        flat = values.astype(np.int32).view(np.uint32)
    else:
        flat = np.ascontiguousarray(values).view(f"u{bits // 8}").astype(np.uint32)
    return np.ascontiguousarray(flat.T)


def from_planes(planes_: NDArray[np.uint32], type_: GlslType) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Read values from the planes that `writer` wrote.

    Parameters
    ----------
    planes_ : (components × words, invocations) uint32.

    Returns
    -------
    values : (invocations, components) in the type's dtype.
    sound : the same shape, False where the words are no value of the type at all: a Boolean that is
        neither 0 nor 1, an int8_t that is not sign-extended.
    """
    dtype, bits = type_.scalar.dtype, type_.scalar.bits
    if bits == 64:
        halves = planes_.reshape(type_.components, 2, -1).transpose(2, 0, 1)
        values = np.ascontiguousarray(halves).view(dtype)[..., 0]
        return values, np.ones(values.shape, np.bool_)
    words_ = np.ascontiguousarray(planes_.T)
    if dtype == np.bool_:
        return words_ != 0, words_ <= 1
    if bits == 32:
        return words_.view(dtype), np.ones(words_.shape, np.bool_)
    values = words_.astype(f"u{bits // 8}").view(dtype)
    widened = values.astype(np.int32 if dtype.kind == "i" else np.uint32) if dtype.kind in "iu" else None
    if widened is None:
        return values, words_ <= 0xFFFF
    return values, widened.view(np.uint32) == words_

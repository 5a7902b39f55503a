"""Encoding of values of every GLSL type in 32-bit words, in GLSL and in NumPy.

Values are stored as the words of their bytes, little endian. Shaders convert them by shifts, conversions
and bit casts, so that a case needs only the arithmetic type and no 8- or 16-bit storage feature. A Boolean
is a byte, 0 or 1. A value fills one plane for each word, padded with zero bytes; a plane holds that word of
all invocations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import LONG_TYPES, GlslType

# Scalar name → GLSL that makes it from the words {w} and {next}; its lowest bit is bit {bit} of {w}.
_READ = {
    "float": "uintBitsToFloat({w})",
    "double": "packDouble2x32(uvec2({w}, {next}))",
    "int": "int({w})",
    "uint": "{w}",
    "bool": "(bitfieldExtract({w}, {bit}, 8) != 0u)",
    "int8_t": "int8_t(bitfieldExtract(int({w}), {bit}, 8))",
    "uint8_t": "uint8_t(bitfieldExtract({w}, {bit}, 8))",
    "int16_t": "int16_t(bitfieldExtract(int({w}), {bit}, 16))",
    "uint16_t": "uint16_t(bitfieldExtract({w}, {bit}, 16))",
    "int64_t": "int64_t(packUint2x32(uvec2({w}, {next})))",
    "uint64_t": "packUint2x32(uvec2({w}, {next}))",
    "float16_t": "unpackFloat2x16({w} >> {bit}).x",
}

# Scalar name → GLSL of the words of value {v}; smaller values are in the lowest bits of a word.
_WRITE = {
    "float": ("floatBitsToUint({v})",),
    "double": ("unpackDouble2x32({v}).x", "unpackDouble2x32({v}).y"),
    "int": ("uint({v})",),
    "uint": ("{v}",),
    "bool": ("({v} ? 1u : 0u)",),
    "int8_t": ("(uint(int({v})) & 0xffu)",),
    "uint8_t": ("uint({v})",),
    "int16_t": ("(uint(int({v})) & 0xffffu)",),
    "uint16_t": ("uint({v})",),
    "int64_t": ("unpackUint2x32(uint64_t({v})).x", "unpackUint2x32(uint64_t({v})).y"),
    "uint64_t": ("unpackUint2x32({v}).x", "unpackUint2x32({v}).y"),
    "float16_t": ("packFloat2x16(f16vec2({v}, float16_t(0.0)))",),
}


def is_long(type_: GlslType) -> bool:
    """Whether a type has more components than GLSL's vectors (SPV_EXT_long_vector)."""
    return type_.name in LONG_TYPES


def putter(type_: GlslType) -> str:
    """Return the GLSL function that records a value; to the compiler all long vectors have the same type."""
    return f"put_{type_.name}" if is_long(type_) else "put"


def _part(type_: GlslType, value: str, index: int) -> str:
    """Return the GLSL of a component of a value."""
    if type_.components == 1:
        return value
    return f"get_{type_.name}_at({value}, {index}u)" if is_long(type_) else f"{value}.{'xyzw'[index]}"


def _bytes(type_: GlslType) -> int:
    """Return the number of bytes of one value."""
    return type_.components * dtype_of(type_.scalar).itemsize


def planes(type_: GlslType) -> int:
    """Return the number of words of one value, which is also its number of planes."""
    return -(-_bytes(type_) // 4)


def _component(type_: GlslType, component: int) -> tuple[int, int]:
    """Return the word in which a component begins, and its lowest bit there."""
    start = component * dtype_of(type_.scalar).itemsize
    return start // 4, start % 4 * 8


def reader(type_: GlslType) -> str:
    """Return a GLSL function `T get_T(uint at)` that reads planes of `INPUT_STRIDE` words from `inputs`."""
    words = [f"uint w{i} = inputs[at + {i}u * INPUT_STRIDE];" for i in range(planes(type_))]
    components = []
    for component in range(type_.components):
        word, bit = _component(type_, component)
        read = _READ[type_.scalar.name].format(w=f"w{word}", next=f"w{word + 1}", bit=bit)
        components.append(read)
    made = f"{'make_' * is_long(type_)}{type_.name}({', '.join(components)})"
    return f"{type_.name} get_{type_.name}(uint at) {{ {' '.join(words)} return {made}; }}"


def writer(type_: GlslType) -> str:
    """Return a GLSL function `void put(uint at, T v)`, `put_T` for a long vector, that writes `outputs`."""
    words: list[list[str]] = [[] for _ in range(planes(type_))]
    for component in range(type_.components):
        value = _part(type_, "v", component)
        first, bit = _component(type_, component)
        for offset, expression in enumerate(_WRITE[type_.scalar.name]):
            text = expression.format(v=value)
            words[first + offset].append(f"{text} << {bit}" if bit else text)
    lines = [
        f"outputs[at + {plane}u * INVOCATIONS] = {' | '.join(parts)};" for plane, parts in enumerate(words)
    ]
    return f"void {putter(type_)}(uint at, {type_.name} v) {{ {' '.join(lines)} }}"


def to_planes(values: NDArray[Any], type_: GlslType) -> NDArray[np.uint32]:
    """Lay out values, (invocations, components), as planes for `reader`, (planes, invocations)."""
    padded = np.zeros((len(values), planes(type_) * 4), np.uint8)
    padded[:, : _bytes(type_)] = np.ascontiguousarray(values).view(np.uint8)
    return np.ascontiguousarray(padded.view("<u4").T)


def from_planes(planes_: NDArray[np.uint32], type_: GlslType) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the values, (invocations, components), in planes from `writer`, and whether each is valid.

    A value is invalid if a Boolean is neither 0 nor 1, or padding is not zero.
    """
    raw = np.ascontiguousarray(planes_.T).view(np.uint8)
    held = np.ascontiguousarray(raw[:, : _bytes(type_)])
    padding = np.all(raw[:, _bytes(type_) :] == 0, axis=1)
    if dtype_of(type_.scalar) == np.bool_:
        return held != 0, (held <= 1) & padding[:, None]
    values = held.view(dtype_of(type_.scalar))
    return values, np.broadcast_to(padding[:, None], values.shape)

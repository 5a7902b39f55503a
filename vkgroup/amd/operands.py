"""Operands as functions: those that return a source's values, and those that write a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.text import NULL, InstructionOperand
from vkgroup.amd.waves import Waves

Read = Callable[[Waves], Any]
Write = Callable[[Waves, Any], None]

SHARED_APERTURE, PRIVATE_APERTURE = 0x0001_0000_0000_0000 >> 32, 0x0002_0000_0000_0000 >> 32
"""High halves of the flat addresses of local data and of scratch memory."""


def bits_of(kind: str) -> int:
    """Return the size of a type such as ``u32``; a lane mask has none."""
    return int(kind[1:])


def dtype_of(kind: str) -> np.dtype[Any]:
    """Return the dtype of a type such as ``f16`` or ``b32``; ``b`` is unsigned."""
    letter = {"b": "u", "u": "u", "i": "i", "f": "f"}[kind[0]]
    return np.dtype(f"{letter}{bits_of(kind) // 8}")


def constant(operand: InstructionOperand, kind: str) -> Any:
    """Return the bits of a constant for a source of a type, as an unsigned integer of its size."""
    bits = bits_of(kind)
    unsigned = np.dtype(f"u{bits // 8}")
    if operand.kind == "float":
        if operand.value in (0.15915494, 0.1591549430918953, 0.15919494, 0.15915494309189532):
            number = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}[bits]
            return unsigned.type(number)
        return np.dtype(f"f{bits // 8}").type(operand.value).view(unsigned)
    value = int(operand.value)
    if bits == 64 and operand.literal:
        value &= 0xFFFFFFFF
        if kind == "f64":
            value <<= 32
        elif kind == "i64":
            value = (value ^ 0x80000000) - 0x80000000
    return unsigned.type(value % (1 << bits))


def special(operand: InstructionOperand) -> Read:
    """Return the values of a source that is neither register nor constant, uint32 of shape (waves,)."""
    word = operand.word
    if word in ("src_scc", "scc"):
        return lambda waves: waves.scc.astype(np.uint32)
    if word in ("src_vccz", "src_execz"):
        register = 106 if word == "src_vccz" else 126
        return lambda waves: (~waves.mask(register).any(axis=1)).astype(np.uint32)
    apertures = {"shared": SHARED_APERTURE, "private": PRIVATE_APERTURE}
    name = word.removeprefix("src_").removesuffix("_lo").removesuffix("_base")
    if name in apertures and "_base" in word:
        return lambda waves: np.uint32(apertures[name])
    raise MissingPart(f"the operand {word}")


def scalar_source(operand: InstructionOperand, kind: str) -> Read:
    """Return a source of a scalar instruction: values of shape (waves,), or one for all, in its type."""
    dtype, bits = dtype_of(kind), bits_of(kind)
    if operand.negated or operand.absolute:
        raise MissingPart("the sign of a scalar source")
    if operand.kind in ("int", "float"):
        value = constant(operand, kind).view(dtype)
        return lambda waves: value
    if operand.kind == "word":
        read = special(operand)
        shift = 32 if bits == 64 and operand.word.endswith("_base") else 0  # an aperture's address
        unsigned = np.dtype(f"u{bits // 8}")
        return lambda waves: (np.asarray(read(waves)).astype(unsigned) << unsigned.type(shift)).view(dtype)
    if operand.kind != "s":
        raise MissingPart(f"a vector register in a scalar instruction ({operand})")
    index = operand.index
    if index == NULL:
        zero = dtype.type(0)
        return lambda waves: zero
    if bits == 64:
        return lambda waves: pair(waves.s[index], waves.s[index + 1]).view(dtype)
    if bits == 16:
        return lambda waves: waves.s[index].astype(np.uint16).view(dtype)
    if dtype == np.uint32:
        return lambda waves: waves.s[index]
    return lambda waves: waves.s[index].view(dtype)


def pair(low: Array, high: Array) -> Array:
    """Return integers of 64 bits from their halves."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def vector_bits(operand: InstructionOperand, kind: str, high: bool = False) -> Read:
    """Return the bits of a source of a vector instruction: unsigned, broadcastable to (waves, lanes).

    `high`: whether a source of 16 bits is the upper half of its register.
    """
    bits = bits_of(kind)
    if high and bits != 16:
        raise MissingPart(f"op_sel of a source of {bits} bits ({operand})")
    if operand.kind in ("int", "float"):
        value = constant(operand, kind)
        if high and not operand.literal:
            return lambda waves: np.uint16(0)
        if high:
            value = np.uint16(int(operand.value) >> 16)
        return lambda waves: value
    if operand.kind == "word":
        read = special(operand)
        unsigned = f"u{bits // 8}"
        return lambda waves: np.asarray(read(waves)).astype(unsigned).reshape(-1, 1)
    index = operand.index
    if operand.kind == "v":
        words: Read = lambda waves: waves.v[index]  # noqa: E731
        upper: Read = lambda waves: waves.v[index + 1]  # noqa: E731
    elif index == NULL:
        words = upper = lambda waves: np.zeros((1, 1), np.uint32)
    else:
        words = lambda waves: waves.s[index][:, None]  # noqa: E731
        upper = lambda waves: waves.s[index + 1][:, None]  # noqa: E731
    if bits == 32:
        return words
    if bits == 64:
        return lambda waves: pair(words(waves), upper(waves))
    if bits == 16:
        if high or operand.half == "h":
            return lambda waves: (words(waves) >> np.uint32(16)).astype(np.uint16)
        return lambda waves: words(waves).astype(np.uint16)
    raise MissingPart(f"a source of {bits} bits")


def lane_mask(operand: InstructionOperand) -> Read:
    """Return a source with one bit a lane: bool, broadcastable to (waves, lanes)."""
    if operand.kind == "int":
        value = int(operand.value)
        return lambda waves: np.array([[bool(value >> lane & 1) for lane in range(waves.lanes)]])
    index = operand.index
    if operand.kind != "s":
        raise MissingPart(f"a lane mask in {operand}")
    return lambda waves: waves.mask(index)


def scalar_result(operand: InstructionOperand, bits: int) -> Write:
    """Return what writes a scalar result: unsigned integers of shape (waves,), or one for all."""
    if operand.kind != "s":
        raise MissingPart(f"a scalar result in {operand}")
    index = operand.index
    if bits == 64 and index != NULL:

        def write(waves: Waves, value: Any) -> None:
            # Both halves are computed before one is written: a source may be the result's register.
            low, high = split(value)
            waves.set_scalar(index, low)
            waves.set_scalar(index + 1, high)

        return write
    return lambda waves, value: waves.set_scalar(index, np.asarray(value).astype(np.uint32))


def split(value: Any) -> tuple[Array, Array]:
    """Return the low and the high halves of integers of 64 bits."""
    wide = np.asarray(value)
    wide = wide.view(np.uint64) if wide.dtype.kind in "fi" else wide.astype(np.uint64)
    return wide.astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)


def registers_of(operand: InstructionOperand, bits: int) -> list[int]:
    """Return the numbers of the registers that an operand names, those of vectors from 256 on."""
    if operand.kind == "list":
        return [register for part in operand.parts for register in registers_of(part, bits)]
    if operand.kind not in ("s", "v") or (operand.kind == "s" and operand.index == NULL):
        return []
    first = operand.index + 256 * (operand.kind == "v")
    return list(range(first, first + max(1, bits // 32)))

"""Formats of typed buffers and images: how texels lie in memory, and what registers hold of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart

_KINDS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")


@dataclass(frozen=True)
class Format:
    """A format: sizes of components in bits, the first one in the lowest bits, and what their numbers mean.

    `kind`: one of ``UNORM SNORM USCALED SSCALED UINT SINT FLOAT``.
    """

    sizes: tuple[int, ...]
    kind: str

    @property
    def nbytes(self) -> int:
        """Bytes of a texel."""
        return sum(self.sizes) // 8


_LAYOUTS = {
    "8": (8,), "16": (16,), "8_8": (8, 8), "32": (32,), "16_16": (16, 16), "10_11_11": (11, 11, 10),
    "11_11_10": (10, 11, 11), "10_10_10_2": (2, 10, 10, 10), "2_10_10_10": (10, 10, 10, 2),
    "8_8_8_8": (8,) * 4, "32_32": (32, 32), "16_16_16_16": (16,) * 4, "32_32_32": (32,) * 3,
    "32_32_32_32": (32,) * 4,
}  # fmt: skip
"""Sizes of components by AMD's names, which begin with the highest bits where sizes differ."""

_DATA_FORMATS = (
    "", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
    "32_32", "16_16_16_16", "32_32_32", "32_32_32_32",
)  # fmt: skip
_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT")


def _unified(floats_of_packed_only: bool) -> list[str]:
    """Return the names of the unified formats by their number: of RDNA 1 and 2, or of RDNA 3 and 4."""
    integers, numbers = _KINDS[4:6], _KINDS[:6]
    packed = (_KINDS[6:], _KINDS[6:]) if floats_of_packed_only else (_KINDS, _KINDS)
    ten = ("UNORM", "SNORM", "UINT", "SINT") if floats_of_packed_only else numbers
    groups = (
        ("8", numbers), ("16", _KINDS), ("8_8", numbers), ("32", (*integers, "FLOAT")), ("16_16", _KINDS),
        ("10_11_11", packed[0]), ("11_11_10", packed[1]), ("10_10_10_2", ten), ("2_10_10_10", numbers),
        ("8_8_8_8", numbers), ("32_32", (*integers, "FLOAT")), ("16_16_16_16", _KINDS),
        ("32_32_32", (*integers, "FLOAT")), ("32_32_32_32", (*integers, "FLOAT")),
    )  # fmt: skip
    return ["INVALID", *chain.from_iterable([f"{name}_{kind}" for kind in kinds] for name, kinds in groups)]


@cache
def format_named(name: str) -> Format:
    """Return a format by AMD's name, such as ``32_32_UINT``."""
    layout, _, kind = name.rpartition("_")
    if layout not in _LAYOUTS:
        raise MissingPart(f"the format {name}")
    return Format(_LAYOUTS[layout], kind)


@cache
def format_numbered(word: int, generation: float) -> Format:
    """Return the format in the fourth word of a buffer's descriptor."""
    if generation < 10:
        data, number = word >> 15 & 0xF, word >> 12 & 7
        if data >= len(_DATA_FORMATS) or not data:
            raise MissingPart(f"the data format {data}")
        return format_named(f"{_DATA_FORMATS[data]}_{_NUMBER_FORMATS[number]}")
    return unified_format(word >> 12 & (0x3F if generation >= 11 else 0x7F), generation)


@cache
def unified_format(number: int, generation: float) -> Format:
    """Return a format of RDNA by its number."""
    names = _unified(generation >= 11)
    if not 0 < number < len(names):
        raise MissingPart(f"the format {number}")
    return format_named(names[number])


@cache
def image_format(data: int, number: int) -> Format:
    """Return a format of an image's descriptor before RDNA."""
    if not 0 < data < len(_DATA_FORMATS) or number > 7:
        raise MissingPart(f"the image format {data}")
    return format_named(f"{_DATA_FORMATS[data]}_{_NUMBER_FORMATS[number & 7]}")


def decoded(texels: Array, form: Format) -> list[Array]:
    """Return the components of texels as the 32 bits of registers.

    `texels`: bytes, (..., `nbytes`).
    """
    words = _words(texels)
    results, at = [], 0
    for size in form.sizes:
        part = words[..., at // 32] >> np.uint32(at % 32)
        results.append(_from_bits(part & np.uint32((1 << size) - 1), size, form.kind))
        at += size
    return results


def _words(texels: Array) -> Array:
    count = -(-texels.shape[-1] // 4)
    whole = np.zeros((*texels.shape[:-1], count * 4), np.uint8)
    whole[..., : texels.shape[-1]] = texels
    return whole.view(np.uint32)


def _from_bits(part: Array, size: int, kind: str) -> Array:
    if kind == "UINT":
        return part
    if kind == "FLOAT":
        return _small_float(part, size).view(np.uint32)
    if kind in ("UNORM", "USCALED"):
        scale = float((1 << size) - 1) if kind == "UNORM" else 1.0
        return (part / scale).astype(np.float32).view(np.uint32)
    sign = np.uint32(1 << size - 1)
    signed = ((part ^ sign) - sign).view(np.int32)
    if kind == "SINT":
        return signed.view(np.uint32)
    if kind == "SSCALED":
        return signed.astype(np.float32).view(np.uint32)
    return np.maximum(signed / float((1 << size - 1) - 1), -1.0).astype(np.float32).view(np.uint32)


def _small_float(part: Array, size: int) -> Array:
    if size == 32:
        return part.view(np.float32)
    if size < 16:  # unsigned: 5 bits of exponent, as a half float
        part = part << np.uint32(15 - size)
    return part.astype(np.uint16).view(np.float16).astype(np.float32)


def encoded(components: list[Array], form: Format) -> Array:
    """Return texels as bytes, (..., `nbytes`), from the 32 bits of registers; missing components are 0."""
    shape = components[0].shape
    words = np.zeros((*shape, -(-form.nbytes // 4)), np.uint32)
    at = 0
    for place, size in enumerate(form.sizes):
        if place < len(components):
            part = _to_bits(components[place], size, form.kind) & np.uint32((1 << size) - 1)
            words[..., at // 32] |= part << np.uint32(at % 32)
        at += size
    return np.ascontiguousarray(words).view(np.uint8)[..., : form.nbytes]


def _to_bits(value: Array, size: int, kind: str) -> Array:
    most = (1 << size) - 1
    if kind == "UINT":
        return np.minimum(value, np.uint32(most))
    if kind == "SINT":
        limit = 1 << size - 1
        return np.clip(value.view(np.int32), -limit, limit - 1).view(np.uint32)
    number = value.view(np.float32)
    if kind == "FLOAT":
        return _to_small_float(number, size)
    number = np.nan_to_num(number.astype(np.float64))
    signed = kind in ("SNORM", "SSCALED")
    limit = (1 << size - 1) - 1 if signed else most
    if kind.endswith("NORM"):
        number = np.clip(number, -1.0 if signed else 0.0, 1.0) * limit
    number = np.clip(np.rint(number), -limit - signed if signed else 0, limit)
    return number.astype(np.int64).astype(np.uint32)


def _to_small_float(number: Array, size: int) -> Array:
    if size == 32:
        return number.view(np.uint32)
    if size == 16:
        return number.astype(np.float16).view(np.uint16).astype(np.uint32)
    most = np.float32(np.finfo(np.float16).max)
    positive = np.where(np.isfinite(number), np.clip(number, 0, most), np.maximum(number, 0))
    half = positive.astype(np.float16)
    bits = (half.view(np.uint16) & np.uint16(0x7FFF)).astype(np.uint32) - (half > positive)  # towards zero
    return bits.astype(np.uint32) >> np.uint32(15 - size)

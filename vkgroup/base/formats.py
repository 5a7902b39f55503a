"""Texel formats of images and texel buffers, and their representation in arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TexelFormat:
    """A texel format."""

    name: str  # as in SPIR-V; also ``"D16"`` and ``"D32f"`` for depths, which no shader declares
    vulkan: str  # the VkFormat's name
    #: `dtype`, `components`: type and number of array elements per texel.
    dtype: np.dtype[Any]
    components: int
    numeric: str  # ``"uint"``, ``"int"``, ``"float"``, ``"unorm"`` or ``"snorm"``
    #: Bits of each channel, lowest first, if one element contains all channels; else empty.
    packed: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of a texel."""
        return self.dtype.itemsize * self.components

    @property
    def channels(self) -> int:
        """Number of channels (red, green, blue, alpha)."""
        return len(self.packed) or self.components

    @property
    def kind(self) -> str:
        """Type that a shader reads: ``"uint"``, ``"int"`` or ``"float"``."""
        return self.numeric if self.numeric in ("uint", "int") else "float"

    @property
    def depth(self) -> bool:
        """Whether it is a depth format, for comparison with a reference value."""
        return self.name.startswith("D")


def _equal_channels() -> list[TexelFormat]:
    """Return the formats with one, two and four channels of the same type."""
    kinds = [
        (f"{bits}{suffix}", f"{bits}", vulkan, f"{letter}{bits // 8}", numeric)
        for suffix, vulkan, letter, numeric, widths in (
            ("ui", "UINT", "u", "uint", (32, 16, 8)),
            ("i", "SINT", "i", "int", (32, 16, 8)),
            ("f", "SFLOAT", "f", "float", (32, 16)),
            ("", "UNORM", "u", "unorm", (16, 8)),
            ("Snorm", "SNORM", "i", "snorm", (16, 8)),
        )
        for bits in widths
    ]
    return [
        TexelFormat(
            prefix + name,
            f"VK_FORMAT_{''.join(f'{letter}{bits}' for letter in prefix.upper())}_{vulkan}",
            np.dtype(dtype),
            len(prefix),
            numeric,
        )
        for prefix in ("R", "Rg", "Rgba")
        for name, bits, vulkan, dtype, numeric in kinds
    ]


_WORD = np.dtype(np.uint32)

_OTHERS = (
    TexelFormat("R64ui", "VK_FORMAT_R64_UINT", np.dtype(np.uint64), 1, "uint"),
    TexelFormat("R64i", "VK_FORMAT_R64_SINT", np.dtype(np.int64), 1, "int"),
    TexelFormat("R11fG11fB10f", "VK_FORMAT_B10G11R11_UFLOAT_PACK32", _WORD, 1, "float", (11, 11, 10)),
    TexelFormat("Rgb10A2", "VK_FORMAT_A2B10G10R10_UNORM_PACK32", _WORD, 1, "unorm", (10, 10, 10, 2)),
    TexelFormat("Rgb10a2ui", "VK_FORMAT_A2B10G10R10_UINT_PACK32", _WORD, 1, "uint", (10, 10, 10, 2)),
    TexelFormat("D16", "VK_FORMAT_D16_UNORM", np.dtype(np.uint16), 1, "unorm"),
    TexelFormat("D32f", "VK_FORMAT_D32_SFLOAT", np.dtype(np.float32), 1, "float"),
)

FORMATS: dict[str, TexelFormat] = {entry.name: entry for entry in (*_equal_channels(), *_OTHERS)}
"""All formats by name, in the order in which `fitting` tries them."""


def fitting(
    dtype: np.dtype[Any], components: int, kind: str | None, *, depth: bool = False
) -> TexelFormat | None:
    """Return the first format for texels of `components` elements; None if no unpacked format fits.

    `kind` is the type that the shader reads (`TexelFormat.kind`), or None if the shader is unknown. `depth`
    says     whether the shader compares depths.
    """
    for entry in FORMATS.values():
        same = (entry.dtype, entry.components) == (dtype, components) and not entry.packed
        if same and entry.depth == depth and kind in (None, entry.kind):
            return entry
    return None


def find(name: str) -> TexelFormat | None:
    """Return a format by its SPIR-V or GLSL name (``"R32ui"``, ``"rgba8_snorm"``); None if unknown."""
    wanted = name.lower().replace("_", "")
    return next((entry for entry in FORMATS.values() if entry.name.lower() == wanted), None)

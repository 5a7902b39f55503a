"""Texel formats of images, and which one an array asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.blocks import suggestion
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.spirv import ImageType


@dataclass(frozen=True)
class Format:
    """A texel format: its SPIR-V name, its VkFormat's name, and a texel as NumPy has it."""

    name: str
    vulkan: str
    dtype: np.dtype[Any]
    components: int


def _formats() -> dict[str, Format]:
    """Formats of storage images by SPIR-V's names, of one, two and four equal components."""
    kinds = [
        (bits, spirv, vulkan, f"{letter}{bits // 8}")
        for spirv, vulkan, letter, widths in (
            ("ui", "UINT", "u", (32, 16, 8)),
            ("i", "SINT", "i", (32, 16, 8)),
            ("f", "SFLOAT", "f", (32, 16)),
            ("", "UNORM", "u", (16, 8)),
            ("Snorm", "SNORM", "i", (16, 8)),
        )
        for bits in widths
    ]
    found = {}
    for prefix, letters in (("R", "R"), ("Rg", "RG"), ("Rgba", "RGBA")):
        for bits, spirv, vulkan, dtype in kinds:
            name = f"{prefix}{bits}{spirv}"
            channels = "".join(f"{letter}{bits}" for letter in letters)
            found[name] = Format(name, f"VK_FORMAT_{channels}_{vulkan}", np.dtype(dtype), len(letters))
    return found


FORMATS = _formats()

#: Axes of an image's array by SPIR-V's dimension, without layers and components.
AXES = {"1D": 1, "2D": 2, "3D": 3}


def choose_format(kind: ImageType, array: npt.NDArray[Any], what: str) -> Format:
    """Choose the format of an image that a module declares, to be filled from `array`.

    A format that the module leaves open follows the array's dtype, and its axes.

    Raises
    ------
    InvalidDispatch
        The array's dtype or number of axes does not fit.
    Unsupported
        The module's format or dimension is none that vkgroup makes images of.
    """
    if kind.dimension not in AXES or kind.multisampled:
        raise Unsupported(f"{what}: images of type {kind.glsl} cannot be made from arrays.", [kind.glsl])
    axes = AXES[kind.dimension] + kind.arrayed
    if kind.format == "Unknown":
        components = array.shape[-1] if array.ndim == axes + 1 else 1
        fitting = [f for f in FORMATS.values() if (f.dtype, f.components) == (array.dtype, components)]
        if not fitting:
            raise InvalidDispatch(
                f"{what}: no image format has {components} components of {array.dtype.name}."
            )
        found = fitting[0]
    elif kind.format in FORMATS:
        found = FORMATS[kind.format]
    else:
        raise Unsupported(f"{what}: images of format {kind.format} cannot be made.", [kind.format])
    if array.dtype != found.dtype:
        raise InvalidDispatch(
            f"{what} has the format {found.name}, whose texels are {found.dtype.name}; the array given is"
            f" {array.dtype.name}. Use array.astype(np.{found.dtype.name})."
        )
    return found


def named_format(name: str) -> Format:
    """Look up a format by SPIR-V's or GLSL's name (``"R32ui"``, ``"r32ui"``).

    Raises
    ------
    InvalidDispatch
        There is none of that name.
    """
    for found in FORMATS.values():
        if found.name.lower() == name.lower():
            return found
    raise InvalidDispatch(f"There is no image format {name!r}.{suggestion(name, FORMATS)}")

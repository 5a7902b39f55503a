"""Texel formats of arrays: chosen by dtype and components, or by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from vkgroup.dispatch.blocks import suggestion
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.formats import FORMATS, Format, find, fitting
from vkgroup.spirv import ImageType

__all__ = ["AXES", "FORMATS", "Format", "choose_format", "named_format"]

#: Axes of an image's array by SPIR-V's dimension, without layers, faces and components.
AXES = {"1D": 1, "2D": 2, "3D": 3, "Cube": 2, "Buffer": 1}


class Shaped(Protocol):
    """An object with the dtype and the shape of an array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""


def choose_format(kind: ImageType, array: Shaped, what: str) -> Format:
    """Choose the format of an image or texel buffer that a module declares, to be filled from `array`.

    A format that the module leaves open follows the array's dtype, its axes, and what the shader reads:
    8-bit texels are normalized where it reads floats.

    Raises
    ------
    InvalidDispatch
        The array's dtype or number of axes does not fit.
    Unsupported
        The module's format or dimension is none that vkgroup makes images of.
    """
    if kind.dimension not in AXES or kind.multisampled:
        raise Unsupported(f"{what}: images of type {kind.glsl} cannot be made from arrays.", [kind.glsl])
    if kind.format == "Unknown":
        return _guess(kind, array, what)
    format_ = FORMATS.get(kind.format)
    if format_ is None:
        raise Unsupported(f"{what}: images of format {kind.format} cannot be made.", [kind.format])
    if array.dtype != format_.dtype:
        raise InvalidDispatch(
            f"{what} has the format {format_.name}, whose texels are {format_.dtype.name}; the array given is"
            f" {array.dtype.name}. Use array.astype(np.{format_.dtype.name})."
        )
    return format_


def _guess(kind: ImageType, array: Shaped, what: str) -> Format:
    axes = AXES[kind.dimension] + (kind.arrayed or kind.dimension == "Cube")
    components = array.shape[-1] if len(array.shape) == axes + 1 else 1
    reads = None if kind.sampled_type is None else kind.sampled_type.kind
    format_ = fitting(array.dtype, components, reads, depth=kind.depth)
    if format_ is None:
        read = "" if reads is None else f" that {kind.glsl} reads"
        raise InvalidDispatch(
            f"{what}: no image format{read} has {components} components of {array.dtype.name}."
        )
    return format_


def named_format(name: str) -> Format:
    """Look up a format by SPIR-V's or GLSL's name (``"R32ui"``, ``"rgba8_snorm"``).

    Raises
    ------
    InvalidDispatch
        There is none of that name.
    """
    format_ = find(name)
    if format_ is None:
        raise InvalidDispatch(f"There is no image format {name!r}.{suggestion(name, FORMATS)}")
    return format_

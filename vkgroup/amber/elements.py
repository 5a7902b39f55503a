"""Types of a script's buffers: how the numbers of an element lie in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import FORMATS, TexelFormat, fitting
from vkgroup.reference.interpreter.operations.images.memory import decode

Data = npt.NDArray[Any]

_SCALARS = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "float16",
    "float": "float32",
    "double": "float64",
}
"""NumPy's name of each scalar type."""

_TYPE = re.compile(r"(?:vec([234])|mat([234])x([234]))<(\w+)>(\[\])?|(\w+?)(\[\])?")

_BY_VULKAN = {entry.vulkan.removeprefix("VK_FORMAT_"): entry for entry in FORMATS.values()}


@dataclass(frozen=True)
class ElementType:
    """The type of the elements of a buffer.

    Attributes
    ----------
    name : as in the script.
    dtype : of one number.
    offsets : byte of each number in an element.
    stride : bytes of an element.
    format : the texel format; None for types that no image has.
    swapped : whether blue comes before red, and the texels of `format` have red first.
    """

    name: str
    dtype: np.dtype[Any]
    offsets: tuple[int, ...]
    stride: int
    format: TexelFormat | None = None
    swapped: bool = False

    @property
    def count(self) -> int:
        """Numbers of an element."""
        return len(self.offsets)

    def pack(self, numbers: Sequence[int | float]) -> npt.NDArray[np.uint8]:
        """Return the bytes of numbers; the last element may lack some, which are zero.

        Integers are reduced to their bits, as in C.
        """
        elements = -(-len(numbers) // self.count)
        values = np.zeros(elements * self.count, self.dtype)
        values[: len(numbers)] = self.numbers(numbers)
        data = np.zeros((elements, self.stride), np.uint8)
        size = self.dtype.itemsize
        for column, offset in enumerate(self.offsets):
            part = np.ascontiguousarray(values[column :: self.count]).view(np.uint8)
            data[:, offset : offset + size] = part.reshape(-1, size)
        return data.reshape(-1)

    def numbers(self, numbers: Sequence[int | float]) -> Data:
        """Return numbers as an array of the type."""
        if self.dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.array(numbers, np.float64).astype(self.dtype)
        mask = (1 << (8 * self.dtype.itemsize)) - 1
        words = np.array([int(number) & mask for number in numbers], np.uint64)
        return words.astype(f"u{self.dtype.itemsize}").view(self.dtype)

    def values(self, data: npt.NDArray[np.uint8]) -> Data:
        """Return the numbers in bytes, (elements, numbers); an incomplete element at the end is left out."""
        size = self.dtype.itemsize
        elements = data[: data.size // self.stride * self.stride].reshape(-1, self.stride)
        columns = [
            np.ascontiguousarray(elements[:, at : at + size]).view(self.dtype)[:, 0] for at in self.offsets
        ]
        return np.stack(columns, axis=1)

    def texels(self, data: npt.NDArray[np.uint8]) -> Data:
        """Return bytes as texels of `format`, (texels, components)."""
        assert self.format is not None
        if self.stride != self.format.nbytes:  # vectors of three, or an alignment to 16 bytes
            return self.values(data)
        texels = data.view(self.format.dtype).reshape(-1, self.format.components)
        return texels[:, [2, 1, 0, 3]] if self.swapped else texels

    def bytes_of(self, texels: Data) -> npt.NDArray[np.uint8]:
        """Return texels of `format`, (texels, components), as bytes of the buffer."""
        held = texels[:, [2, 1, 0, 3]] if self.swapped else texels
        return np.ascontiguousarray(held).view(np.uint8).reshape(-1)

    def colors(self, data: npt.NDArray[np.uint8]) -> Data:
        """Return what a shader reads from the elements: (elements, components)."""
        if self.format is None:
            return self.values(data)
        channels = 4 if self.swapped else self.format.channels
        return decode(self.format, np.ascontiguousarray(self.texels(data).T))[:channels].T


def element_type(name: str, *, std140: bool = False) -> ElementType | None:
    """Return the type of a name such as ``vec3<float>``, ``uint32[]`` or ``R8G8B8A8_UNORM``; None if unknown.

    In a buffer, vectors of three have the alignment of four, and columns of matrices too; with `std140`,
    elements of arrays and columns are aligned to 16 bytes (GLSL 4.60, 4.4.5; Vulkan, "Offset and Stride
    Assignment").
    """
    if (texels := _format(name)) is not None:
        return texels
    match = _TYPE.fullmatch(name)
    if match is None:
        return None
    vector, columns, rows, inner, array, scalar, scalar_array = match.groups()
    kind = _SCALARS.get(inner or scalar)
    if kind is None:
        return None
    dtype = np.dtype(kind)
    length, number = int(vector or rows or 1), int(columns or 1)
    column = dtype.itemsize * (4 if length == 3 else length)
    if std140 and (columns or array or scalar_array):
        column = -(-column // 16) * 16
    offsets = tuple(
        first * column + second * dtype.itemsize for first in range(number) for second in range(length)
    )
    stride = number * column
    format_ = None if columns else fitting(dtype, length, None)
    return ElementType(name, dtype, offsets, stride, format_)


def _format(name: str) -> ElementType | None:
    """Return the type of a texel format by Vulkan's name, without its beginning."""
    # A word of four bytes with alpha at the top lies in memory as four bytes with red first.
    plain = re.sub(r"^A8B8G8R8_(\w+)_PACK32$", r"R8G8B8A8_\1", name)
    swapped = plain.startswith("B8G8R8A8")
    format_ = _BY_VULKAN.get(plain.replace("B8G8R8A8", "R8G8B8A8"))
    if format_ is None:
        return None
    if plain != name:
        return ElementType(name, np.dtype(np.uint32), (0,), 4, format_)
    size = format_.dtype.itemsize
    offsets = tuple(size * number for number in range(format_.components))
    return ElementType(name, format_.dtype, offsets, format_.nbytes, format_, swapped)

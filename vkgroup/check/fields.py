"""The numbers of a buffer by offset, type and name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.program.layout import LaidOutType, element_of, member_of
from vkgroup.spirv import ArrayType, MatrixType, PointerType, ScalarType, StructType, VectorType


@dataclass(frozen=True)
class Field:
    """All numbers with one name: a single number, or the elements of an array of any dimensions."""

    name: str  # the name, with ``{}`` for each index: ``"young[{}].position"``
    dtype: np.dtype[Any]  # type of the numbers; uint64 for a pointer
    offsets: npt.NDArray[np.int64]  # bytes from the buffer's start, one dimension for each index
    member: int  # index of the block member that contains the numbers
    is_pointer: bool = False  # whether the numbers are addresses of physical storage

    @property
    def path(self) -> str:
        """`name` without indices."""
        return self.name.replace("[{}]", "")

    @property
    def word(self) -> str:
        """The last part of its path: the identifier in the source."""
        return self.path.rsplit(".", 1)[-1]

    def label(self, flat: int) -> str:
        """Return the name of one number, by its place in the flattened offsets."""
        indices = [int(index) for index in np.unravel_index(flat, self.offsets.shape)]
        return self.name.format(*indices)


_ELEMENTS = ("@data", "", "__member0")
"""The names that glslang, DXC and Slang give to the only member of an HLSL buffer."""

_WRAPPER = "_Array_std"
"""Beginning of the name of the structure that Slang makes of an array in a uniform buffer."""


def member_names(block: StructType, buffer: str) -> list[str]:
    """Return the names of a block's members in the source; the elements of an HLSL buffer have its name."""
    if len(block.members) == 1 and block.members[0].name in _ELEMENTS:
        return [buffer or block.members[0].name]
    return [member.name for member in block.members]


_INTERFACE = re.compile(r"^(out\.var\.|in\.var\.|@entryPointOutput\.?|entryPointParam_\w+?(\.|$))")
"""What DXC, glslang and Slang write before the name of an input or output of an HLSL entry point."""


def interface_name(name: str) -> str:
    """Return the name of an input or output in the source; empty if it has none there."""
    return _INTERFACE.sub("", name)


@lru_cache(maxsize=64)
def fields_of(block: StructType, nbytes: int, buffer: str = "") -> tuple[Field, ...]:
    """Return the fields of a buffer of `nbytes` bytes; the runtime array fills the bytes after the others.

    The elements of an HLSL buffer have no name in the source and are named `buffer`.
    """
    fields: list[Field] = []
    names = member_names(block, buffer)
    for number, member in enumerate(block.members):
        offset, kind = member_of(LaidOutType(block), number)
        length = None
        if isinstance(member.type, ArrayType) and member.type.length is None and member.type.stride:
            length = max(0, (nbytes - offset) // member.type.stride)
        fields += fields_in(names[number], kind, np.asarray(offset, np.int64), number, length)
    return tuple(fields)


def fields_in(
    name: str, laid_out: LaidOutType, start: npt.NDArray[np.int64], member: int, length: int | None = None
) -> Iterator[Field]:
    """Yield the fields of a part of a buffer or of shared memory.

    `length`: elements of a runtime array.
    """
    kind = laid_out.type
    if isinstance(kind, ScalarType):
        yield Field(name, np.dtype(np.uint32) if kind.kind == "bool" else kind.dtype, start, member)
    elif isinstance(kind, PointerType):
        yield Field(name, np.dtype(np.uint64), start, member, True)
    elif isinstance(kind, StructType):
        for number, inner in enumerate(kind.members):
            path = f"{name}.{inner.name}" if name else inner.name
            if kind.name.startswith(_WRAPPER) and len(kind.members) == 1:
                path = name
            offset, part = member_of(laid_out, number)
            yield from fields_in(path, part, start + offset, member)
    elif isinstance(kind, ArrayType | MatrixType | VectorType):
        stride, count, element = element_of(laid_out)
        count = length if count is None else count
        if count is not None:
            offsets = start[..., None] + stride * np.arange(count)
            yield from fields_in(f"{name}[{{}}]", element, offsets, member)


def take(data: npt.NDArray[np.uint8], field: Field) -> npt.NDArray[Any]:
    """Return a field's numbers from a buffer's bytes, in the shape of its offsets."""
    if field.offsets.size == 0:
        return np.zeros(field.offsets.shape, field.dtype)
    if (aligned := _aligned(data, field)) is not None:
        numbers, index = aligned
        return np.asarray(numbers[index])
    raw = data[field.offsets[..., None] + np.arange(field.dtype.itemsize)]
    return np.ascontiguousarray(raw).view(field.dtype)[..., 0]


def put(data: npt.NDArray[np.uint8], field: Field, values: npt.NDArray[Any]) -> None:
    """Write a field's numbers into a buffer's bytes."""
    if field.offsets.size == 0:
        return
    values = values.astype(field.dtype).reshape(field.offsets.shape)
    if (aligned := _aligned(data, field)) is not None:
        numbers, index = aligned
        numbers[index] = values
        return
    raw = np.ascontiguousarray(values)
    data[field.offsets[..., None] + np.arange(field.dtype.itemsize)] = raw[..., None].view(np.uint8)


def _aligned(
    data: npt.NDArray[np.uint8], field: Field
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None:
    """Return a buffer as numbers of a field's type, and the index of each of its numbers.

    None if one is not aligned to its size.
    """
    size = field.dtype.itemsize
    if not data.flags.c_contiguous or (field.offsets % size).any():
        return None
    return data[: data.size // size * size].view(field.dtype), field.offsets // size

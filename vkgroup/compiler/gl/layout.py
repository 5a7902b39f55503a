"""Layout of loose uniforms in the default block (std140: GL 4.3, 7.6.2.2), and names of their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vkgroup.compiler.gl.interface import Uniform
from vkgroup.spirv.layout import round_up
from vkgroup.spirv.types import (
    ArrayType,
    ImageType,
    MatrixType,
    OpaqueType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
    VectorType,
    innermost,
)

#: A constant: a number, or a sequence of constants; None without an initializer, which means zeros.
Value = float | int | bool | Sequence[Any] | None


def is_opaque(kind: Type) -> bool:
    """Return whether a type is opaque (image or sampler) and cannot be stored in a buffer."""
    return isinstance(kind, ImageType | SampledImageType | OpaqueType)


def holds_opaque(kind: Type) -> bool:
    """Return whether a type is opaque or has an opaque part."""
    kind = innermost(kind)
    if isinstance(kind, StructType):
        return any(holds_opaque(member.type) for member in kind.members)
    return is_opaque(kind)


def holds_data(kind: Type) -> bool:
    """Return whether a type has a part that can be stored in a buffer."""
    kind = innermost(kind)
    if isinstance(kind, StructType):
        return any(holds_data(member.type) for member in kind.members)
    return not is_opaque(kind)


def data_members(kind: StructType) -> list[int]:
    """Return the indices of the members that have a part stored in the buffer."""
    return [index for index, member in enumerate(kind.members) if holds_data(member.type)]


def extent(kind: Type) -> tuple[int, int]:
    """Return size and base alignment of a type in std140, in bytes; opaque members are omitted."""
    if isinstance(kind, ScalarType):
        size = kind.size or 4
        return size, size
    if isinstance(kind, VectorType):
        size = kind.component.size or 4
        return size * kind.count, size * (2 if kind.count == 2 else 4)
    if isinstance(kind, MatrixType):
        stride = matrix_stride(kind)
        return stride * kind.columns, stride
    if isinstance(kind, ArrayType):
        stride = array_stride(kind)
        return stride * (kind.length or 0), round_up(extent(kind.element)[1], 16)
    if isinstance(kind, StructType):
        ends = [(offset, extent(kind.members[index].type)) for index, offset in member_offsets(kind)]
        alignment = round_up(max((extent[1] for _, extent in ends), default=1), 16)
        end = max((offset + extent[0] for offset, extent in ends), default=0)
        return round_up(end, alignment), alignment
    raise TypeError(f"{kind.glsl} cannot be stored in a block")


def array_stride(kind: ArrayType) -> int:
    """Return the bytes from one element of an array to the next."""
    size, alignment = extent(kind.element)
    return round_up(size, round_up(alignment, 16))


def matrix_stride(kind: MatrixType) -> int:
    """Return the bytes from one column of a matrix to the next."""
    return round_up(extent(kind.column)[1], 16)


def member_offsets(kind: StructType) -> list[tuple[int, int]]:
    """Return index and offset of each member that is stored in the buffer."""
    offsets, end = [], 0
    for index in data_members(kind):
        size, alignment = extent(kind.members[index].type)
        offset = round_up(end, alignment)
        offsets.append((index, offset))
        end = offset + size
    return offsets


def leaves(name: str, kind: Type, offset: int, value: Value) -> Iterator[Uniform]:
    """Yield the parts of a variable that OpenGL counts as uniforms (GL 4.3, 7.3.1), in the order of offsets.

    `offset` is that of the variable in the block, and `value` the constant of its initializer. Locations are
    0.
    """
    parts = value if isinstance(value, Sequence) else None
    if isinstance(kind, StructType):
        for index, start in member_offsets(kind):
            member = kind.members[index]
            part = parts[index] if parts else None
            yield from leaves(f"{name}.{member.name}", member.type, offset + start, part)
    elif isinstance(kind, ArrayType) and isinstance(kind.element, ArrayType | StructType):
        for number in range(kind.length or 0):
            start, part = offset + number * array_stride(kind), parts[number] if parts else None
            yield from leaves(f"{name}[{number}]", kind.element, start, part)
    else:
        element = kind.element if isinstance(kind, ArrayType) else kind
        length = kind.length if isinstance(kind, ArrayType) else None
        count = _components(element) * (1 if length is None else length)
        yield Uniform(
            name=name,
            type=element.glsl,
            length=length,
            location=0,
            offset=offset,
            array_stride=array_stride(kind) if isinstance(kind, ArrayType) else 0,
            matrix_stride=matrix_stride(element) if isinstance(element, MatrixType) else 0,
            initial=(0,) * count if value is None else tuple(_flat(value)),
        )


def same(first: Type, second: Type) -> bool:
    """Return whether OpenGL considers two types equal: structure and member names matter, offsets do not."""
    if isinstance(first, ArrayType) and isinstance(second, ArrayType):
        return first.length == second.length and same(first.element, second.element)
    if isinstance(first, StructType) and isinstance(second, StructType):
        return (first.name, len(first.members)) == (second.name, len(second.members)) and all(
            a.name == b.name and same(a.type, b.type)
            for a, b in zip(first.members, second.members, strict=True)
        )
    return first == second


def _components(kind: Type) -> int:
    if isinstance(kind, MatrixType):
        return kind.columns * kind.column.count
    return kind.count if isinstance(kind, VectorType) else 1


def _flat(value: Value) -> Iterator[float | int | bool]:
    if isinstance(value, Sequence):
        for part in value:
            yield from _flat(part)
    elif value is not None:
        yield value

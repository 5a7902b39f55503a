"""Memory layout: the offset of every number of a type, and a layout for shared variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import ADDRESS, held
from vkgroup.spirv import (
    ArrayType,
    MatrixType,
    PointerType,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
)

BOOLEAN = ScalarType("uint", 32)
"""The type of a boolean in shared memory."""


@dataclass(frozen=True, slots=True)
class LaidOutType:
    """A type in memory, with the matrix layout that the member of its structure declares."""

    type: Type  # the type
    #: `matrix_stride`, `row_major`: of the matrix that it is or holds; 0 where there is none.
    matrix_stride: int = 0
    row_major: bool = False


@dataclass(frozen=True, slots=True)
class MemoryLeaf:
    """One leaf of a type in memory."""

    scalar: ScalarType  # type of the numbers; `is_bool` where they stand for booleans
    offsets: npt.NDArray[np.int64]  # bytes from the start, int64 in the shape of the leaf's dims
    is_bool: bool = False


def member_of(laid_out: LaidOutType, index: int) -> tuple[int, LaidOutType]:
    """Return the offset of a structure's member, and its type."""
    assert isinstance(laid_out.type, StructType)
    entry = laid_out.type.members[index]
    return entry.offset or 0, LaidOutType(entry.type, entry.matrix_stride or 0, entry.row_major)


def element_of(laid_out: LaidOutType) -> tuple[int, int | None, LaidOutType]:
    """Return stride, number (None: the memory's size decides) and type of the elements."""
    kind = laid_out.type
    if isinstance(kind, ArrayType):
        return kind.stride or 0, kind.length, replace(laid_out, type=kind.element)
    if isinstance(kind, MatrixType):
        size = kind.column.component.size or 4
        stride = size if laid_out.row_major else laid_out.matrix_stride
        # In a row-major matrix, components of a column are one row apart.
        return stride, kind.columns, replace(laid_out, type=kind.column)
    assert isinstance(kind, VectorType)
    size = kind.component.size or 4
    return laid_out.matrix_stride if laid_out.row_major else size, kind.count, LaidOutType(kind.component)


@lru_cache(maxsize=4096)
def numbers(laid_out: LaidOutType) -> tuple[MemoryLeaf, ...]:
    """Return the offsets of all numbers of a type, leaf by leaf as in `leaves_of`."""
    kind = laid_out.type
    if isinstance(kind, ScalarType):
        is_bool = kind.kind == "bool"
        return (MemoryLeaf(BOOLEAN if is_bool else held(kind), np.zeros((), np.int64), is_bool),)
    if isinstance(kind, PointerType):
        return (MemoryLeaf(ADDRESS, np.zeros((), np.int64)),)
    if isinstance(kind, StructType):
        leaves = []
        for index in range(len(kind.members)):
            start, inner = member_of(laid_out, index)
            leaves += [replace(entry, offsets=entry.offsets + start) for entry in numbers(inner)]
        return tuple(leaves)
    stride, length, inner = element_of(laid_out)
    assert length is not None
    steps = np.arange(length, dtype=np.int64) * stride
    return tuple(
        replace(entry, offsets=steps.reshape(-1, *(1,) * entry.offsets.ndim) + entry.offsets)
        for entry in numbers(inner)
    )


def end_of(laid_out: LaidOutType) -> int:
    """Return the end of the last number of a type, in bytes from its start."""
    ends = [
        int(part.offsets.max()) + (part.scalar.size or 4) for part in numbers(laid_out) if part.offsets.size
    ]
    return max(ends, default=0)


def smallest(kind: Type) -> int:
    """Return the bytes of the smallest number in a type."""
    if isinstance(kind, ScalarType):
        return kind.size or 4
    if isinstance(kind, VectorType):
        return kind.component.size or 4
    if isinstance(kind, MatrixType):
        return kind.column.component.size or 4
    if isinstance(kind, ArrayType):
        return smallest(kind.element)
    if isinstance(kind, StructType):
        return min((smallest(entry.type) for entry in kind.members), default=4)
    return 8


def lay_out(kind: Type) -> tuple[LaidOutType, int, int]:
    """Return a type with a layout for shared variables, its size and its alignment.

    Numbers are packed by their own alignment.
    """
    if isinstance(kind, ScalarType):
        size = kind.size or 4
        return LaidOutType(kind), size, size
    if isinstance(kind, PointerType):
        return LaidOutType(kind), 8, 8
    if isinstance(kind, VectorType):
        size = kind.component.size or 4
        return LaidOutType(kind), size * kind.count, size
    if isinstance(kind, MatrixType):
        size = kind.column.component.size or 4
        stride = size * kind.column.count
        return LaidOutType(kind, stride), stride * kind.columns, size
    if isinstance(kind, ArrayType) and kind.length is not None:
        inner, size, alignment = lay_out(kind.element)
        laid_out = replace(inner, type=ArrayType(inner.type, kind.length, size))
        return laid_out, size * kind.length, alignment
    assert isinstance(kind, StructType)
    members, end, largest = [], 0, 1
    for entry in kind.members:
        inner, size, alignment = lay_out(entry.type)
        start = -(-end // alignment) * alignment
        members.append(StructMember(entry.name, inner.type, start, inner.matrix_stride or None))
        end, largest = start + size, max(largest, alignment)
    end = -(-end // largest) * largest
    return LaidOutType(StructType(kind.name, tuple(members))), end, largest

"""Where the numbers of a type lie in memory: explicit layouts, and one for shared variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values import ADDRESS, held
from vkgroup.spirv import (
    ArrayType,
    MatrixType,
    Member,
    PointerType,
    ScalarType,
    StructType,
    Type,
    VectorType,
)

BOOLEAN = ScalarType("uint", 32)
"""What shared memory holds for a boolean."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A type as a pointer sees it: with the matrix layout that its structure's member gave it.

    Attributes
    ----------
    type : the type.
    matrix_stride, row_major : of the matrix that it is or holds; 0 where there is none.
    """

    type: Type
    matrix_stride: int = 0
    row_major: bool = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """One leaf of a type in memory.

    Attributes
    ----------
    scalar : type of the numbers; `is_bool` where they stand for booleans.
    offsets : bytes from the start, int64 in the shape of the leaf's dims.
    """

    scalar: ScalarType
    offsets: npt.NDArray[np.int64]
    is_bool: bool = False


def member(placed: Placed, index: int) -> tuple[int, Placed]:
    """Return where a structure's member starts, and what it is."""
    assert isinstance(placed.type, StructType)
    entry = placed.type.members[index]
    return entry.offset or 0, Placed(entry.type, entry.matrix_stride or 0, entry.row_major)


def element(placed: Placed) -> tuple[int, int | None, Placed]:
    """Return stride, number (None: the memory's size decides) and kind of what an index chooses."""
    kind = placed.type
    if isinstance(kind, ArrayType):
        return kind.stride or 0, kind.length, replace(placed, type=kind.element)
    if isinstance(kind, MatrixType):
        size = kind.column.component.size or 4
        stride = size if placed.row_major else placed.matrix_stride
        # A column of a row-major matrix has its components a row apart.
        return stride, kind.columns, replace(placed, type=kind.column)
    assert isinstance(kind, VectorType)
    size = kind.component.size or 4
    return placed.matrix_stride if placed.row_major else size, kind.count, Placed(kind.component)


@lru_cache(maxsize=4096)
def numbers(placed: Placed) -> tuple[Numbers, ...]:
    """Return where all numbers of a type lie, leaf by leaf as in `values.leaves_of`."""
    kind = placed.type
    if isinstance(kind, ScalarType):
        is_bool = kind.kind == "bool"
        return (Numbers(BOOLEAN if is_bool else held(kind), np.zeros((), np.int64), is_bool),)
    if isinstance(kind, PointerType):
        return (Numbers(ADDRESS, np.zeros((), np.int64)),)
    if isinstance(kind, StructType):
        found = []
        for index in range(len(kind.members)):
            start, inner = member(placed, index)
            found += [replace(entry, offsets=entry.offsets + start) for entry in numbers(inner)]
        return tuple(found)
    stride, length, inner = element(placed)
    assert length is not None
    steps = np.arange(length, dtype=np.int64) * stride
    return tuple(
        replace(entry, offsets=steps.reshape(-1, *(1,) * entry.offsets.ndim) + entry.offsets)
        for entry in numbers(inner)
    )


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


def laid_out(kind: Type) -> tuple[Placed, int, int]:
    """Give a type without layout one, for shared variables: numbers packed by their own alignment.

    Returns
    -------
    The type with offsets and strides, its size, its alignment.
    """
    if isinstance(kind, ScalarType):
        size = kind.size or 4
        return Placed(kind), size, size
    if isinstance(kind, PointerType):
        return Placed(kind), 8, 8
    if isinstance(kind, VectorType):
        size = kind.component.size or 4
        return Placed(kind), size * kind.count, size
    if isinstance(kind, MatrixType):
        size = kind.column.component.size or 4
        stride = size * kind.column.count
        return Placed(kind, stride), stride * kind.columns, size
    if isinstance(kind, ArrayType) and kind.length is not None:
        inner, size, alignment = laid_out(kind.element)
        placed = replace(inner, type=ArrayType(inner.type, kind.length, size))
        return placed, size * kind.length, alignment
    assert isinstance(kind, StructType)
    members, end, largest = [], 0, 1
    for entry in kind.members:
        inner, size, alignment = laid_out(entry.type)
        start = -(-end // alignment) * alignment
        members.append(Member(entry.name, inner.type, start, inner.matrix_stride or None))
        end, largest = start + size, max(largest, alignment)
    end = -(-end // largest) * largest
    return Placed(StructType(kind.name, tuple(members))), end, largest

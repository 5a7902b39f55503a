"""Numbers and padding in the layout of a type, and rows of a plain array that show where the padding is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vkgroup.spirv.types import (
    ArrayType,
    MatrixType,
    StructMember,
    StructType,
    Type,
    innermost,
    lines_of,
)


def is_packed(kind: Type, member: StructMember | None = None) -> bool:
    """Return whether a type has no byte of padding between its numbers."""
    if isinstance(kind, MatrixType):
        if member is None:
            return False
        _, numbers = lines_of(kind, row_major=member.row_major)
        return member.matrix_stride == numbers * (kind.column.component.size or 0)
    if isinstance(kind, ArrayType):
        return kind.stride == _size(kind.element, member) and is_packed(kind.element, member)
    if isinstance(kind, StructType):
        end = 0
        for entry in sorted(kind.members, key=lambda entry: entry.offset or 0):
            if entry.offset != end or not is_packed(entry.type, entry):
                return False
            end += entry.size or 0
    return True


def _size(kind: Type, member: StructMember | None) -> int | None:
    """Return the bytes of a type, whose matrices are laid out as the member says."""
    if member is None or not isinstance(innermost(kind), MatrixType):
        return kind.size
    return StructMember("", kind, 0, member.matrix_stride, member.row_major).size


def vectors(kind: Type, member: StructMember | None, start: int = 0) -> list[tuple[int, int]]:
    """Return the offset and size of each run of numbers without padding: vectors, columns, scalars."""
    if isinstance(kind, StructType):
        return [
            place
            for entry in kind.members
            for place in vectors(entry.type, entry, start + (entry.offset or 0))
        ]
    if isinstance(kind, ArrayType):
        # Rows of an array repeat: a few elements show whether one is cut.
        count, stride = min(kind.length or 1, 64), kind.stride or 0
        return [
            place
            for number in range(count)
            for place in vectors(kind.element, member, start + number * stride)
        ]
    if isinstance(kind, MatrixType) and member is not None:
        lines, numbers = lines_of(kind, row_major=member.row_major)
        size = numbers * (kind.column.component.size or 0)
        return [(start + line * (member.matrix_stride or size), size) for line in range(lines)]
    return [(start, kind.size or 0)]


def row_sizes(shape: Sequence[int], itemsize: int) -> list[int]:
    """Return the bytes of the rows of an array in C order, from those of its first axis on."""
    return [itemsize * math.prod(shape[axis:]) for axis in range(1, len(shape))]


def rows_fit(rows: Sequence[int], kind: Type, member: StructMember | None) -> bool:
    """Return whether rows show the padding of an array: one is a stride, or its divisor without a cut."""
    while isinstance(kind, ArrayType):
        unit, kind = kind.stride or 0, kind.element
        if _unit_fits(rows, unit, kind, member):
            return True
        if unit != _size(kind, member):
            return False
    return False


def _unit_fits(rows: Sequence[int], unit: int, kind: Type, member: StructMember | None) -> bool:
    """Return whether a row divides the bytes of a type so that each part begins with a vector or column."""
    starts = {start for start, _ in vectors(kind, member)}
    return any(row and unit % row == 0 and starts.issuperset(range(0, unit, row)) for row in rows) and uncut(
        [row for row in rows if row < unit], kind, member
    )


def headed_rows_fit(rows: Sequence[int], nbytes: int, block: StructType, last: StructMember) -> bool:
    """Return whether rows show the padding of a block that ends with a runtime array after other members.

    A flat array shows it, too, where numbers without padding would be no whole number of elements.
    """
    start, stride = last.offset or 0, (last.type.stride if isinstance(last.type, ArrayType) else None) or 1
    head = StructType(block.name, tuple(member for member in block.members if member is not last))
    if _unit_fits(rows, start, head, None) and rows_fit(rows, last.type, last):
        return True
    gap = start - sum(size for _, size in vectors(head, None))
    packed = is_packed(last.type, last)
    return not rows and packed and (nbytes - start) % stride == 0 and gap % stride != 0


def uncut(rows: Sequence[int], kind: Type, member: StructMember | None) -> bool:
    """Return whether no vector lies partly in one row and partly in the next, for each length of rows."""
    places = vectors(kind, member)
    return all(
        start // row == (start + size - 1) // row for row in rows if row for start, size in places if size
    )


def transposed(shape: Sequence[int], member: StructMember) -> bool:
    """Return whether a shape ends with the lines of a member's matrix and their length in the wrong order."""
    kind = innermost(member.type)
    if not isinstance(kind, MatrixType) or kind.columns == kind.column.count:
        return False
    return tuple(shape[-2:]) == lines_of(kind, row_major=member.row_major)[::-1]

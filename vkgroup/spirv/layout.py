"""Layout rules of a block: std140, std430, or only scalar alignment.

Vulkan 1.3 §15.6.4 "Offset and Stride Assignment". A uniform buffer that satisfies only std430 needs
the feature ``uniformBufferStandardLayout``, and a block that satisfies neither needs
``scalarBlockLayout``. Vectors follow the relaxed rule of Vulkan 1.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vkgroup.spirv.types import (
    ArrayType,
    MatrixType,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
    dimensions,
    innermost,
)


class _Facts(NamedTuple):
    """The classification of a structure under one set of rules."""

    structure: StructType  # a reference, so that its id() is not reused
    alignment: int
    keeps: bool


class LayoutChecker:
    """Classifies each structure once, so that shared and deeply nested structures are fast.

    `remember` must receive structures in the order of declaration, inner ones first.
    """

    def __init__(self) -> None:
        self._facts: dict[tuple[int, bool], _Facts] = {}
        self._shared: dict[int, tuple[int | None, int]] = {}

    def remember(self, structure: StructType) -> None:
        """Classify a structure before those that contain it."""
        self._of(structure, True)
        self._of(structure, False)
        self.shared_size(structure)

    def rules(self, block: StructType) -> str | None:
        """Return ``"std140"``, ``"std430"`` or ``"scalar"``: the strictest rules that `block` satisfies.

        None where the block has no layout at all.
        """
        if any(member.offset is None for member in block.members):
            return None
        extended, base = self._of(block, True), self._of(block, False)
        if extended.keeps:
            return "std140"
        return "std430" if base.keeps else "scalar"

    def shared_size(self, kind: Type) -> tuple[int | None, int]:
        """Return the size and alignment of a shared variable in std430, with booleans of 4 bytes.

        The size is None where the type has none (an opaque type, an array without length).
        """
        count = math.prod(dimensions(kind))
        if not count:
            return None, 1
        size, alignment = self._shared_element(innermost(kind))
        # Elements of an array start at multiples of their alignment; a lone vec3 is not padded.
        return (size if size is None or count == 1 else round_up(size, alignment) * count), alignment

    def _shared_element(self, kind: Type) -> tuple[int | None, int]:
        if isinstance(kind, ScalarType):
            return kind.size or 4, kind.size or 4
        if isinstance(kind, VectorType):
            return (kind.component.size or 4) * kind.count, _vector_alignment(kind)
        if isinstance(kind, MatrixType):
            alignment = _vector_alignment(kind.column)
            return round_up(kind.column.size or 0, alignment) * kind.columns, alignment
        if isinstance(kind, StructType):
            if id(kind) not in self._shared:
                self._shared[id(kind)] = self._shared_structure(kind)
            return self._shared[id(kind)]
        return kind.size, 8

    def _shared_structure(self, structure: StructType) -> tuple[int | None, int]:
        end, widest = 0, 1
        for member in structure.members:
            size, alignment = self.shared_size(member.type)
            if size is None:
                return None, 1
            end = round_up(end, alignment) + size
            widest = max(widest, alignment)
        return round_up(end, widest), widest

    def _of(self, block: StructType, extended: bool) -> _Facts:
        key = (id(block), extended)
        facts = self._facts.get(key)
        if facts is None:
            own = max((self._alignment(member.type, member, extended) for member in block.members), default=1)
            facts = _Facts(block, round_up(own, 16) if extended else own, self._keeps(block, extended))
            self._facts[key] = facts
        return facts

    def _keeps(self, block: StructType, extended: bool) -> bool:
        """Return whether each member of `block`, nested ones included, is aligned by the rules."""
        end_of_previous = 0
        for member in block.members:
            offset = member.offset or 0
            if isinstance(member.type, VectorType):
                alignment = member.type.component.size or 4
            else:
                alignment = self._alignment(member.type, member, extended)
            if offset % alignment or offset < end_of_previous:
                return False
            if isinstance(member.type, VectorType) and _straddles(offset, member.type.size or 0):
                return False
            if not self._strides_keep(member, extended):
                return False
            # A member must not lie in the padding of the aggregate before it.
            end_of_previous = offset + (member.size or 0)
            if isinstance(member.type, ArrayType | StructType | MatrixType):
                end_of_previous = round_up(end_of_previous, alignment)
        return True

    def _strides_keep(self, member: StructMember, extended: bool) -> bool:
        """Return whether array and matrix strides in one member are multiples of their alignment."""
        kind = member.type
        while isinstance(kind, ArrayType):
            alignment = self._alignment(kind, member, extended)
            if kind.stride is None or kind.stride % alignment:
                return False
            kind = kind.element
        if isinstance(kind, MatrixType):
            stride = member.matrix_stride
            return stride is not None and stride % self._alignment(kind, member, extended) == 0
        return not isinstance(kind, StructType) or self._of(kind, extended).keeps

    def _alignment(self, kind: Type, member: StructMember, extended: bool) -> int:
        """Return the base alignment of `kind`, or its extended one (aggregates: rounded up to 16)."""
        in_array = isinstance(kind, ArrayType | MatrixType)
        kind = innermost(kind)
        if isinstance(kind, StructType):
            return self._of(kind, extended).alignment
        if isinstance(kind, MatrixType):
            count = kind.columns if member.row_major else kind.column.count
            kind = VectorType(kind.column.component, count)
        own = _vector_alignment(kind)
        return round_up(own, 16) if extended and in_array else own


def _vector_alignment(kind: Type) -> int:
    if isinstance(kind, VectorType):
        return (kind.component.size or 4) * (2 if kind.count == 2 else 4)
    if isinstance(kind, ScalarType):
        return kind.size or 4
    return kind.size or 1


def _straddles(offset: int, size: int) -> bool:
    """Return whether a vector "improperly straddles" (Vulkan): it crosses a 16-byte boundary without need."""
    if size <= 16:
        return size > 0 and offset // 16 != (offset + size - 1) // 16
    return offset % 16 != 0


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple that is at least a value."""
    return -(-value // multiple) * multiple

"""SPIR-V types as values.

Sizes, offsets and strides are in bytes, as in the module's decorations. `size` is None where the module
defines none: booleans, opaque types, undecorated structures, and types that end in an array whose length
depends on the bound buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from vkgroup.spec.types import SCALARS

_ENCODINGS = {
    "BFloat16KHR": "bfloat16_t",
    "Float8E4M3EXT": "floate4m3_t",
    "Float8E5M2EXT": "floate5m2_t",
}
"""GLSL's names of float encodings."""

_SCALARS = {(scalar.kind, scalar.bits): scalar for scalar in SCALARS.values()}


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number or a boolean."""

    kind: str  # ``"float"``, ``"int"``, ``"uint"``, ``"bool"``, or the name of another float encoding
    bits: int  # width; 1 for ``"bool"``

    @property
    def size(self) -> int | None:
        """Bytes; None for a boolean, which has no layout in memory."""
        return None if self.kind == "bool" else self.bits // 8

    @property
    def glsl(self) -> str:
        """GLSL's name."""
        if self.kind == "bool":
            return "bool"
        known = _SCALARS.get((self.kind, self.bits))
        return known.name if known else _ENCODINGS.get(self.kind, f"{self.kind}{self.bits}_t")

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """NumPy's type with the same bits; raw bytes if NumPy has none."""
        if self.kind == "bool":
            return np.dtype(np.bool_)
        letter = {"float": "f", "int": "i", "uint": "u"}.get(self.kind)
        if letter is None or (self.kind, self.bits) not in _SCALARS:
            return np.dtype(f"V{self.bits // 8}")
        return np.dtype(f"<{letter}{self.bits // 8}")


@dataclass(frozen=True, slots=True)
class VectorType:
    """`count` components of one scalar type."""

    component: ScalarType
    count: int

    @property
    def size(self) -> int | None:
        """Bytes of the components, without padding."""
        return None if self.component.size is None else self.component.size * self.count

    @property
    def glsl(self) -> str:
        """GLSL's name."""
        return f"{_prefix(self.component)}vec{self.count}"


@dataclass(frozen=True, slots=True)
class MatrixType:
    """A matrix of column vectors; the structure's member has its stride and majorness."""

    column: VectorType
    columns: int

    size: ClassVar[int | None] = None

    @property
    def glsl(self) -> str:
        """GLSL's name."""
        rows = self.column.count
        shape = f"{self.columns}" if rows == self.columns else f"{self.columns}x{rows}"
        return f"{_prefix(self.column.component)}mat{shape}"


@dataclass(frozen=True, slots=True)
class CooperativeMatrixType:
    """A matrix with elements distributed over the invocations of a scope (SPV_KHR_cooperative_matrix)."""

    component: ScalarType  # type of the elements
    scope: int  # SPIR-V's number of the scope; 3 is the subgroup
    # `rows`, `columns`: as declared, with specialization constants at their defaults
    rows: int
    columns: int
    use: int  # 0 for A, 1 for B, 2 for the accumulator and the result

    size: ClassVar[int | None] = None

    @property
    def glsl(self) -> str:
        """GLSL's name, with numbers for the scope and the use."""
        return f"coopmat<{self.component.glsl}, {self.scope}, {self.rows}, {self.columns}, {self.use}>"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    element: Type  # type of the elements
    # number of elements, with specialization constants at their defaults; None where the bound buffer or
    # descriptor set determines it
    length: int | None
    stride: int | None  # bytes from one element to the next; None where it has no layout in memory
    length_constant: int | None = None  # the id of the length where specialization can change it, else None

    @property
    def size(self) -> int | None:
        """Bytes, padding after the last element included; None without a length or layout."""
        return _size_in_block(self)

    @property
    def glsl(self) -> str:
        """GLSL's name, the outermost dimension first."""
        return innermost(self).glsl + "".join(f"[{length or ''}]" for length in dimensions(self))


@dataclass(frozen=True, slots=True)
class StructMember:
    """A member of a structure."""

    name: str  # as in the source; empty where the module has no debug names
    type: Type  # its type
    offset: int | None = None  # bytes from the structure's start; None in a structure without layout
    # bytes from one column (or row, where `row_major`) to the next; None for other types
    matrix_stride: int | None = None
    row_major: bool = False  # whether a matrix is stored row after row
    # `readable`, `writable`: False where the source has ``writeonly`` or ``readonly``
    readable: bool = True
    writable: bool = True

    @property
    def size(self) -> int | None:
        """Bytes of the member; None where the module does not define them."""
        return _size_in_block(self.type, self.matrix_stride, self.row_major)


def _size_in_block(kind: Type, matrix_stride: int | None = None, row_major: bool = False) -> int | None:
    """Return the bytes of a type; the layout of its matrices is that of the member that contains them.

    A module may declare elements that are larger than the stride of their array, and overlap.
    """
    if isinstance(kind, MatrixType) and matrix_stride is not None:
        return matrix_stride * (kind.column.count if row_major else kind.columns)
    if not isinstance(kind, ArrayType):
        return kind.size
    if kind.length is None or kind.stride is None:
        return None
    element = _size_in_block(kind.element, matrix_stride, row_major) or 0
    return kind.length * kind.stride + max(0, element - kind.stride) * (kind.length > 0)


@dataclass(frozen=True)
class StructType:
    """A structure or block, with its members in the order of declaration."""

    name: str
    members: tuple[StructMember, ...]

    @cached_property
    def size(self) -> int | None:
        """Bytes up to the end of the last member; None without layout or with a runtime array."""
        ends = [_end(member) for member in self.members]
        return None if None in ends else max((end for end in ends if end is not None), default=0)

    @property
    def fixed_size(self) -> int:
        """Bytes up to the end of the last member with a known size.

        A runtime array counts only up to its offset.
        """
        return max(
            (
                (member.offset or 0) if end is None else end
                for member, end in ((member, _end(member)) for member in self.members)
            ),
            default=0,
        )

    @property
    def runtime_array(self) -> StructMember | None:
        """The member whose length depends on the bound buffer; None where there is none."""
        if not self.members:
            return None
        last = self.members[-1]
        return last if isinstance(last.type, ArrayType) and last.type.length is None else None

    @property
    def glsl(self) -> str:
        """The structure's name."""
        return self.name

    def __getitem__(self, name: str) -> StructMember:
        """Return the member called `name`; raises KeyError where there is none."""
        for member in self.members:
            if member.name == name:
                return member
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class ImageType:
    """A storage image, sampled image, texel buffer or input attachment."""

    sampled_type: ScalarType | None  # type of a texel's components when read; None for ``void``
    # SPIR-V's name: ``"1D"``, ``"2D"``, ``"3D"``, ``"Cube"``, ``"Rect"``, ``"Buffer"``, ``"SubpassData"``
    dimension: str
    # `depth`, `arrayed`, `multisampled`: as declared
    depth: bool
    arrayed: bool
    multisampled: bool
    storage: bool  # whether it is read and written without a sampler
    format: str  # SPIR-V's name, for example ``"Rgba32f"``; ``"Unknown"`` where not declared

    size: ClassVar[int | None] = None

    @property
    def glsl(self) -> str:
        """GLSL's name, for example ``uimage2DArray``."""
        prefix = "" if self.sampled_type is None else _prefix(self.sampled_type)
        if self.dimension == "SubpassData":
            return f"{prefix}subpassInput{'MS' * self.multisampled}"
        suffix = "MS" * self.multisampled + "Array" * self.arrayed
        return f"{prefix}{'image' if self.storage else 'texture'}{self.dimension}{suffix}"


@dataclass(frozen=True, slots=True)
class SampledImageType:
    """An image together with its sampler."""

    image: ImageType

    size: ClassVar[int | None] = None

    @property
    def glsl(self) -> str:
        """GLSL's name, for example ``sampler2D``."""
        return self.image.glsl.replace("texture", "sampler")


@dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer; in a buffer it is an address of 8 bytes (``buffer_reference``).

    `pointee` is None where the pointer's type was announced before what it points to, which is
    how a structure refers to itself, and for an untyped pointer (SPV_KHR_untyped_pointers).
    """

    storage_class: str
    pointee: Type | None
    is_untyped: bool = False

    @property
    def size(self) -> int | None:
        """8 in a physical storage buffer, else None."""
        return 8 if self.storage_class == "PhysicalStorageBuffer" else None

    @property
    def glsl(self) -> str:
        """The pointed type's name, as GLSL names buffer references."""
        return "buffer_reference" if self.pointee is None else self.pointee.glsl


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type without layout and parts: ``sampler``, ``accelerationStructureEXT``, ``rayQueryEXT``, …."""

    name: str

    size: ClassVar[int | None] = None

    @property
    def glsl(self) -> str:
        """The type's name."""
        return self.name


Type = (
    ScalarType
    | VectorType
    | MatrixType
    | CooperativeMatrixType
    | ArrayType
    | StructType
    | ImageType
    | SampledImageType
    | PointerType
    | OpaqueType
)


def lines_of(kind: MatrixType, *, row_major: bool) -> tuple[int, int]:
    """Return the number of lines in which memory holds a matrix, columns or rows, and the numbers of each."""
    return (kind.column.count, kind.columns) if row_major else (kind.columns, kind.column.count)


def innermost_stride(kind: Type) -> int | None:
    """Return the bytes between the elements of the innermost array of a type; None without an array."""
    stride = None
    while isinstance(kind, ArrayType):
        stride = kind.stride
        kind = kind.element
    return stride


def innermost(kind: Type) -> Type:
    """Return the element type of an array or array of arrays; other types are returned unchanged."""
    while isinstance(kind, ArrayType):
        kind = kind.element
    return kind


def component_of(kind: Type | None) -> ScalarType | None:
    """Return the type of the numbers of a scalar, vector or matrix; None for other types."""
    if isinstance(kind, MatrixType):
        kind = kind.column
    if isinstance(kind, VectorType):
        kind = kind.component
    return kind if isinstance(kind, ScalarType) else None


def dimensions(kind: Type) -> tuple[int, ...]:
    """Return the lengths of an array of arrays, outermost first: 0 for a runtime array."""
    lengths = []
    while isinstance(kind, ArrayType):
        lengths.append(kind.length or 0)
        kind = kind.element
    return tuple(lengths)


def _prefix(scalar: ScalarType) -> str:
    """Return the text before ``vec`` or ``mat`` in GLSL's names."""
    if scalar.kind == "bool":
        return "b"
    known = _SCALARS.get((scalar.kind, scalar.bits))
    return known.vector_prefix.removesuffix("vec") if known else f"{scalar.glsl}_"


def _end(member: StructMember) -> int | None:
    size = member.size
    return None if size is None or member.offset is None else member.offset + size

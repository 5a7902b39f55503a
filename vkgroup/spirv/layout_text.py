"""Layouts in words: tables of members and fields, and the NumPy dtype of a structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vkgroup.spirv.types import (
    ArrayType,
    MatrixType,
    PointerType,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
    component_of,
    dimensions,
    innermost,
    innermost_stride,
    lines_of,
)

_ADDRESS = np.dtype(np.uint64)


class _Row(NamedTuple):
    """A member or field of a table of a layout: its name with those that contain it, its type, its offset."""

    name: str
    type: str
    offset: int


def fields_of(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Return the type and offset of each field by its name; a field's title is no name."""
    entries: Mapping[str, Any] = dtype.fields or {}
    return {name: (entries[name][0], entries[name][1]) for name in dtype.names or ()}


def scalar_dtype(kind: Type) -> np.dtype[Any]:
    """Return how memory holds the numbers of a type: a boolean as VkBool32."""
    if isinstance(kind, PointerType):
        return _ADDRESS
    scalar = component_of(kind)
    if scalar is None:
        return np.dtype(np.uint8)
    return np.dtype(np.uint32) if scalar.kind == "bool" else scalar.dtype


def number_dtypes(kind: Type) -> set[np.dtype[Any]]:
    """Return the NumPy types of all numbers in a type."""
    kind = innermost(kind)
    if isinstance(kind, StructType):
        return set().union(*(number_dtypes(member.type) for member in kind.members))
    return {scalar_dtype(kind)} if isinstance(kind, PointerType) or component_of(kind) is not None else set()


def block_rows(kind: StructType, path: str = "", start: int = 0) -> list[_Row]:
    """Return the members of a structure, those of inner structures after each."""
    rows = []
    for member in kind.members:
        at, inner = start + (member.offset or 0), innermost(member.type)
        stride = member.type.stride if isinstance(member.type, ArrayType) else member.matrix_stride
        text = member.type.glsl + (f", stride {stride}" if stride else "")
        rows.append(_Row(path + (member.name or "?"), text, at))
        if isinstance(inner, StructType):
            rows += block_rows(inner, f"{path}{member.name}.", at)
    return rows


def field_rows(dtype: np.dtype[Any], path: str = "", start: int = 0) -> list[_Row]:
    """Return the fields of a dtype, those of inner structures after each."""
    rows = []
    for name, (field, offset) in fields_of(dtype).items():
        rows.append(_Row(path + name, dtype_name(field), start + offset))
        if field.base.fields is not None:
            rows += field_rows(field.base, f"{path}{name}.", start + offset)
    return rows


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a field's type with its shape in brackets."""
    base, shape = dtype.subdtype or (dtype, ())
    name = "fields" if base.fields is not None else base.name if base.isnative else base.str
    return name + "".join(f"[{length}]" for length in shape)


def table(rows: Sequence[_Row]) -> str:
    """Return rows as lines with aligned columns."""
    names = max((len(row.name) for row in rows), default=0)
    types = max((len(row.type) for row in rows), default=0)
    return "\n".join(f"  {row.name:<{names}}  {row.type:<{types}}  byte {row.offset}" for row in rows)


def dtype_text(kind: StructType, stride: int | None = None) -> str:
    """Return the NumPy dtype of a structure in Python: names, formats, offsets and size."""
    names, formats, offsets = [], [], []
    for number, member in enumerate(kind.members):
        names.append(member.name or f"member{number}")
        formats.append(_format_text(member))
        offsets.append(member.offset or 0)
    size = stride if stride is not None else max(kind.fixed_size, 1)
    return (
        f"np.dtype({{'names': {names}, 'formats': [{', '.join(formats)}], 'offsets': {offsets},"
        f" 'itemsize': {size}}})"
    )


def _format_text(member: StructMember) -> str:
    """Return the format of a member in Python; a runtime array has N elements."""
    lengths = [str(length or "N") for length in dimensions(member.type)]
    kind, stride = innermost(member.type), innermost_stride(member.type)
    if isinstance(kind, StructType):
        text = dtype_text(kind, stride)
    else:
        scalar = scalar_dtype(kind)
        text = repr(scalar.str.lstrip("<|"))
        if isinstance(kind, MatrixType):
            lines, _ = lines_of(kind, row_major=member.row_major)
            lengths += [str(lines), str((member.matrix_stride or 0) // scalar.itemsize)]
        elif isinstance(kind, VectorType) and not stride:
            lengths.append(str(kind.count))
        elif stride and isinstance(kind, ScalarType | VectorType) and stride != scalar.itemsize:
            lengths.append(str(stride // scalar.itemsize))
    return text if not lengths else f"({text}, ({', '.join(lengths)},))"

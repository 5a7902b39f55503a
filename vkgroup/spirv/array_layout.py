"""The layout of a NumPy array beside that of a block: offsets, types, names and strides.

A block's layout is its decorations (Vulkan 1.3 §15.6.4 "Offset and Stride Assignment"), an array's is its
dtype and shape. Where they differ, a shader would read numbers from other places than the array has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
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
    innermost,
)

_ADDRESS = np.dtype(np.uint64)


class _Row(NamedTuple):
    """A member or field of a table of a layout: its name with those that contain it, its type, its offset."""

    name: str
    type: str
    offset: int


def check_layout(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Check that a shader finds the numbers of an array where a block has its members.

    An array with fields has a field for each member, of its name, offset and type; more fields may lie in the
    padding. One record is the whole block, or an element of the block's only member. An array without fields
    has rows that are as long as the block's strides, where the block has padding. Bytes (``np.uint8`` and
    ``np.void``) are taken as they are.

    Raises InvalidDispatch: with both layouts, and the dtype or shape that fits.
    """
    if array.dtype.fields is not None:
        _check_fields(array, block, what)
    elif array.dtype.kind != "V" and array.dtype != np.uint8 and not _is_packed(block):
        _check_rows(array, block, what)


# --- arrays without fields ----------------------------------------------------------------------------


def _is_packed(kind: Type, member: StructMember | None = None) -> bool:
    """Return whether a type has no byte of padding between its numbers."""
    if isinstance(kind, MatrixType):
        rows, columns = kind.column.count, kind.columns
        scalar = kind.column.component.size or 0
        length = columns if member is not None and member.row_major else rows
        return member is not None and member.matrix_stride == length * scalar
    if isinstance(kind, ArrayType):
        return kind.stride == _size(kind.element, member) and _is_packed(kind.element, member)
    if isinstance(kind, StructType):
        end = 0
        for entry in sorted(kind.members, key=lambda entry: entry.offset or 0):
            if entry.offset != end or not _is_packed(entry.type, entry):
                return False
            end += entry.size or 0
    return True


def _size(kind: Type, member: StructMember | None) -> int | None:
    """Return the bytes of a type, whose matrices are laid out as the member says."""
    if member is None or not isinstance(innermost(kind), MatrixType):
        return kind.size
    return StructMember("", kind, 0, member.matrix_stride, member.row_major).size


def _vectors(kind: Type, member: StructMember | None, start: int = 0) -> list[tuple[int, int]]:
    """Return the offset and size of each run of numbers without padding: vectors, columns, scalars."""
    if isinstance(kind, StructType):
        return [
            place
            for entry in kind.members
            for place in _vectors(entry.type, entry, start + (entry.offset or 0))
        ]
    if isinstance(kind, ArrayType):
        # Rows of an array repeat: a few elements show whether one is cut.
        count, stride = min(kind.length or 1, 64), kind.stride or 0
        return [
            place
            for number in range(count)
            for place in _vectors(kind.element, member, start + number * stride)
        ]
    if isinstance(kind, MatrixType) and member is not None:
        lines, numbers = kind.columns, kind.column.count
        if member.row_major:
            lines, numbers = numbers, lines
        size = numbers * (kind.column.component.size or 0)
        return [(start + line * (member.matrix_stride or size), size) for line in range(lines)]
    return [(start, kind.size or 0)]


def _check_rows(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Check that the shape of an array shows where the padding of a block lies."""
    shape, itemsize = array.shape, array.dtype.itemsize
    only = block.members[0] if len(block.members) == 1 else None
    rows = [itemsize * math.prod(shape[axis:]) for axis in range(1, len(shape))]  # bytes, longest first
    if only is not None and isinstance(only.type, ArrayType):
        unit, kind = only.type.stride or 0, only.type.element
        fits = unit in rows and _uncut([row for row in rows if row < unit], kind, only)
    else:
        unit, kind = block.fixed_size, block if only is None else only.type
        whole = array.nbytes in (unit, -(-unit // 16) * 16)
        fits = block.runtime_array is None and whole and _uncut(rows, kind, only)
    if fits:
        return
    numbers = unit // itemsize
    if only is not None and isinstance(only.type, ArrayType):
        wanted = f"(…, {_shape(kind, only, numbers, itemsize)})"
    elif isinstance(kind, MatrixType) and only is not None and only.matrix_stride:
        per_line = only.matrix_stride // itemsize
        wanted = f"({numbers // per_line}, {per_line})"
    else:
        wanted = ""
    how = f"an array of shape {wanted}, in which padding fills each row, " if wanted else ""
    raise InvalidDispatch(
        f"{what} has padding between its numbers, and an array of shape {shape} does not say where:\n"
        f"{_table(_block_rows(block))}\nGive {how}{'or ' if how else ''}an array of this dtype:"
        f" {dtype_text(*_element(block))}"
    )


def _shape(kind: Type, member: StructMember, numbers: int, itemsize: int) -> str:
    """Return the last dimensions of an array whose elements have `numbers` numbers with their padding."""
    if isinstance(kind, MatrixType) and member.matrix_stride:
        per_line = member.matrix_stride // itemsize
        return f"{numbers // per_line}, {per_line}"
    return str(numbers)


def _uncut(rows: Sequence[int], kind: Type, member: StructMember | None) -> bool:
    """Return whether no vector lies partly in one row and partly in the next, for each length of rows."""
    places = _vectors(kind, member)
    return all(
        start // row == (start + size - 1) // row for row in rows if row for start, size in places if size
    )


# --- arrays with fields -------------------------------------------------------------------------------


def _element(block: StructType) -> tuple[StructType, int | None]:
    """Return the structure that a record stands for, and the bytes from one to the next; None for a block."""
    only = block.members[0] if len(block.members) == 1 else None
    if only is None:
        return block, None
    kind, stride = only.type, None
    while isinstance(kind, ArrayType):
        stride = kind.stride
        kind = kind.element
    if isinstance(kind, StructType):
        return kind, stride
    return StructType(block.name, (StructMember(only.name, kind, 0, only.matrix_stride, only.row_major),)), (
        stride
    )


def _check_fields(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Compare the fields of an array with the members of a block, or of its elements."""
    dtype = array.dtype
    element, stride = _element(block)
    names = set(dtype.names or ())
    inner = {member.name for member in element.members}
    outer = {member.name for member in block.members}
    if names & outer and not names & inner:
        element, stride = block, None
    only = element.members[0] if len(element.members) == 1 else None
    if only is not None and isinstance(only.type, VectorType) and only.name not in names:
        problems = _component_problems(dtype, only.type, "")
    else:
        problems = _problems(dtype, element, "")
    if stride is not None and dtype.itemsize != stride:
        problems.append(f"a record has {dtype.itemsize} bytes, an element {stride}")
    if stride is None and array.size != 1:
        problems.append(f"the block is one record, and {array.size} were given")
    if not problems:
        return
    head = "its only element" if stride is None else f"each element: {stride} bytes"
    raise InvalidDispatch(
        f"{what}: the array's fields are not where the block has its members: {'; '.join(problems)}.\n"
        f"The block ({head if element is not block else 'once'}):\n{_table(_block_rows(element))}\n"
        f"The array (each record: {dtype.itemsize} bytes):\n{_table(_field_rows(dtype))}\n"
        f"Use the dtype {dtype_text(element, stride)}"
    )


def _problems(dtype: np.dtype[Any], kind: StructType, path: str) -> list[str]:
    """Return what differs between a dtype with fields and a structure."""
    fields = dict(dtype.fields or {})
    problems, taken = [], set()
    by_offset = {entry[1]: name for name, entry in fields.items()}
    for member in kind.members:
        start = member.offset or 0
        # A module without debug names has members without a name: they are found by their place.
        name = member.name or by_offset.get(start, "")
        label = path + (name or f"the member at byte {start}")
        if name not in fields:
            problems.append(f"no field {label}")
            continue
        taken.add(name)
        field, offset = fields[name][0], fields[name][1]
        if offset != start:
            problems.append(f"{label} is at byte {offset}, in the block at byte {start}")
        problems += _type_problems(field, member, label)
    for name, entry in fields.items():
        if name not in taken and _overlaps(kind, entry[1], entry[1] + entry[0].itemsize):
            problems.append(f"there is no member {path}{name}")
    return problems


def _component_problems(dtype: np.dtype[Any], kind: VectorType, path: str) -> list[str]:
    """Return what differs between a dtype with a field for each component and a vector."""
    found = sorted((entry[1], name) for name, entry in (dtype.fields or {}).items())
    size = kind.component.size or 0
    problems = [
        f"{path}{name} is {_dtype_name(dtype[name])} at byte {start}, which is no component of {kind.glsl}"
        for start, name in found
        if start < size * kind.count and (start % size or dtype[name] != kind.component.dtype)
    ]
    held = sum(start < size * kind.count for start, _ in found)
    if not problems and held != kind.count:
        problems.append(
            f"there are fields for {held} components of {path.rstrip('.') or kind.glsl}, a {kind.glsl}"
        )
    return problems


def _overlaps(kind: StructType, start: int, end: int) -> bool:
    """Return whether bytes of a structure are those of a member rather than padding."""
    return any(
        start < at + length and at < end
        for member in kind.members
        for at, length in _vectors(member.type, member, member.offset or 0)
    )


def _type_problems(field: np.dtype[Any], member: StructMember, label: str) -> list[str]:
    """Return what differs between the type of a field and that of its member."""
    base, shape = field.subdtype or (field, ())
    kind = innermost(member.type)
    if isinstance(kind, StructType):
        if base.fields is None:
            return [f"{label} is {_dtype_name(field)}, in the block the structure {kind.glsl}"]
        problems = _problems(base, kind, f"{label}.")
        stride = _inner_stride(member.type)
        if stride is not None and base.itemsize != stride:
            problems.append(f"an element of {label} has {base.itemsize} bytes, in the block {stride}")
    elif base.fields is not None and not shape and isinstance(member.type, VectorType):
        problems = _component_problems(base, member.type, f"{label}.")
    else:
        wanted = _scalar(kind)
        same = base == wanted or (wanted.kind == "V" and base.itemsize == wanted.itemsize)
        if not same:
            return [f"{label} is {_dtype_name(field)}, in the block {member.type.glsl}"]
        problems = []
        if not _is_packed(member.type, member) and not _rows_show(shape, base.itemsize, member):
            problems.append(f"{label} of shape {shape} does not show the padding of {member.type.glsl}")
    size = member.size
    if not problems and size is not None and field.itemsize < _least(member):
        problems.append(f"{label} has {field.itemsize} bytes, in the block {size}")
    return problems


def _least(member: StructMember) -> int:
    """Return the bytes up to the last number of a member, without the padding after it."""
    return max((start + size for start, size in _last_places(member)), default=0)


def _last_places(member: StructMember) -> list[tuple[int, int]]:
    """Return where the numbers of the last element of a member lie."""
    kind, start = member.type, 0
    while isinstance(kind, ArrayType):
        start += max((kind.length or 1) - 1, 0) * (kind.stride or 0)
        kind = kind.element
    return _vectors(kind, member, start)


def _rows_show(shape: Sequence[int], itemsize: int, member: StructMember) -> bool:
    """Return whether the shape of a field has rows as long as the strides of a member with padding."""
    rows = [itemsize * math.prod(shape[axis:]) for axis in range(1, len(shape))]
    if isinstance(member.type, ArrayType):
        unit = member.type.stride or 0
        return unit in rows and _uncut([row for row in rows if row < unit], member.type.element, member)
    return _uncut([*rows, itemsize * math.prod(shape)], member.type, member)


def _inner_stride(kind: Type) -> int | None:
    stride = None
    while isinstance(kind, ArrayType):
        stride = kind.stride
        kind = kind.element
    return stride


def _scalar(kind: Type) -> np.dtype[Any]:
    """Return how memory holds the numbers of a type: a boolean as VkBool32."""
    if isinstance(kind, PointerType):
        return _ADDRESS
    scalar = component_of(kind)
    if scalar is None:
        return np.dtype(np.uint8)
    return np.dtype(np.uint32) if scalar.kind == "bool" else scalar.dtype


# --- layouts in words ---------------------------------------------------------------------------------


def _block_rows(kind: StructType, path: str = "", start: int = 0) -> list[_Row]:
    rows = []
    for member in kind.members:
        at, inner = start + (member.offset or 0), innermost(member.type)
        stride = member.type.stride if isinstance(member.type, ArrayType) else member.matrix_stride
        text = member.type.glsl + (f", stride {stride}" if stride else "")
        rows.append(_Row(path + (member.name or "?"), text, at))
        if isinstance(inner, StructType):
            rows += _block_rows(inner, f"{path}{member.name}.", at)
    return rows


def _field_rows(dtype: np.dtype[Any], path: str = "", start: int = 0) -> list[_Row]:
    rows = []
    for name, entry in (dtype.fields or {}).items():
        rows.append(_Row(path + name, _dtype_name(entry[0]), start + entry[1]))
        base = entry[0].base
        if base.fields is not None:
            rows += _field_rows(base, f"{path}{name}.", start + entry[1])
    return rows


def _dtype_name(dtype: np.dtype[Any]) -> str:
    base, shape = dtype.subdtype or (dtype, ())
    name = "fields" if base.fields is not None else base.name if base.isnative else base.str
    return name + "".join(f"[{length}]" for length in shape)


def _table(rows: Sequence[_Row]) -> str:
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
    lengths: list[str] = []
    kind, stride = member.type, None
    while isinstance(kind, ArrayType):
        lengths.append("N" if kind.length is None else str(kind.length))
        stride = kind.stride
        kind = kind.element
    if isinstance(kind, StructType):
        text = dtype_text(kind, stride)
    else:
        scalar = _scalar(kind)
        text = repr(scalar.str.lstrip("<|"))
        if isinstance(kind, MatrixType):
            lines = kind.column.count if member.row_major else kind.columns
            lengths += [str(lines), str((member.matrix_stride or 0) // scalar.itemsize)]
        elif isinstance(kind, VectorType) and not stride:
            lengths.append(str(kind.count))
        elif stride and isinstance(kind, ScalarType | VectorType) and stride != scalar.itemsize:
            lengths.append(str(stride // scalar.itemsize))
    return text if not lengths else f"({text}, ({', '.join(lengths)},))"

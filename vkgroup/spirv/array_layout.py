"""The layout of a NumPy array beside that of a block: offsets, types, names and strides.

A block's layout is its decorations (Vulkan 1.3 §15.6.4 "Offset and Stride Assignment"), an array's is its
dtype and shape. Where they differ, a shader would read numbers from other places than the array has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.spirv.layout_text import (
    block_rows,
    dtype_name,
    dtype_text,
    field_rows,
    fields_of,
    number_dtypes,
    scalar_dtype,
    table,
)
from vkgroup.spirv.row_layout import (
    headed_rows_fit,
    is_packed,
    row_sizes,
    rows_fit,
    transposed,
    uncut,
    vectors,
)
from vkgroup.spirv.types import (
    ArrayType,
    MatrixType,
    StructMember,
    StructType,
    Type,
    VectorType,
    innermost,
    innermost_stride,
)


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
    elif array.dtype.kind != "V" and array.dtype != np.uint8:
        if not is_packed(block):
            _check_rows(array, block, what)
        only = block.members[0] if len(block.members) == 1 else None
        if only is not None and transposed(array.shape, only):
            raise InvalidDispatch(
                f"{what}: an array of shape {array.shape} has the {innermost(only.type).glsl} in the wrong"
                f" order; it is stored by {'rows' if only.row_major else 'columns'}. Swap the last two axes."
            )


def check_memory(shape: Sequence[int], dtype: np.dtype[Any], block: StructType, what: str) -> None:
    """Check memory that a block may read as other types than it was made with, by its shape and dtype.

    Only fields, and rows of numbers of the block's own type, say something about the layout.

    Raises InvalidDispatch: as `check_layout`.
    """
    if dtype.fields is not None or (len(shape) > 1 and number_dtypes(block) == {dtype}):
        check_layout(np.broadcast_to(np.empty((), dtype), tuple(shape)), block, what)


# --- arrays without fields ----------------------------------------------------------------------------


def _check_rows(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Check that the shape of an array shows where the padding of a block lies."""
    shape, itemsize = array.shape, array.dtype.itemsize
    only = block.members[0] if len(block.members) == 1 else None
    rows = row_sizes(shape, itemsize)
    if only is not None and isinstance(only.type, ArrayType):
        unit, kind = only.type.stride or 0, only.type.element
        fits = rows_fit(rows, only.type, only)
    else:
        unit, kind = block.fixed_size, block if only is None else only.type
        if (last := block.runtime_array) is not None:
            fits = headed_rows_fit(rows, array.nbytes, block, last)
        else:
            fits = array.nbytes in (unit, -(-unit // 16) * 16) and uncut(rows, kind, only)
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
        f"{table(block_rows(block))}\nGive {how}{'or ' if how else ''}an array of this dtype:"
        f" {dtype_text(*_element(block))}"
    )


def _shape(kind: Type, member: StructMember, numbers: int, itemsize: int) -> str:
    """Return the last dimensions of an array whose elements have `numbers` numbers with their padding."""
    if isinstance(kind, MatrixType) and member.matrix_stride:
        per_line = member.matrix_stride // itemsize
        return f"{numbers // per_line}, {per_line}"
    return str(numbers)


# --- arrays with fields -------------------------------------------------------------------------------


def _element(block: StructType) -> tuple[StructType, int | None]:
    """Return the structure that a record stands for, and the bytes from one to the next; None for a block."""
    only = block.members[0] if len(block.members) == 1 else None
    if only is None:
        return block, None
    kind, stride = innermost(only.type), innermost_stride(only.type)
    if isinstance(kind, StructType):
        return kind, stride
    return StructType(block.name, (StructMember(only.name, kind, 0, only.matrix_stride, only.row_major),)), (
        stride
    )


def _check_fields(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Compare the fields of an array with the members of a block, or of its elements."""
    dtype = array.dtype
    element, stride = _element(block)
    if _is_plain(array, block):
        return
    names = set(dtype.names or ())
    inner = {member.name for member in element.members}
    problems = _record_problems(array, element, stride)
    if problems and names & {member.name for member in block.members}:
        whole = _record_problems(array, block, None)
        if not whole or not names & inner:
            element, stride, problems = block, None, whole
    if not problems:
        return
    head = "its only element" if stride is None else f"each element: {stride} bytes"
    raise InvalidDispatch(
        f"{what}: the array's fields are not where the block has its members: {'; '.join(problems)}.\n"
        f"The block ({head if element is not block else 'once'}):\n{table(block_rows(element))}\n"
        f"The array (each record: {dtype.itemsize} bytes):\n{table(field_rows(dtype))}\n"
        f"Use the dtype {dtype_text(element, stride)}"
    )


def _is_plain(array: npt.NDArray[Any], block: StructType) -> bool:
    """Return whether records are numbers of one type, or bytes, and fit a block as such.

    The block is an array of numbers, vectors or matrices, whose parts have no names.
    """
    dtype, only = array.dtype, block.members[0]
    base = next(iter(fields_of(dtype).values()))[0].base
    alone = sum(field.itemsize for field, _ in fields_of(dtype).values()) == dtype.itemsize and all(
        field.base == base for field, _ in fields_of(dtype).values()
    )
    kind = innermost(only.type)
    if len(block.members) > 1 or not isinstance(only.type, ArrayType) or isinstance(kind, StructType):
        return False
    if not alone or base.fields is not None or only.name in (dtype.names or ()):
        return False
    if base.kind == "V" or base == np.uint8:
        return dtype.itemsize % (only.type.stride or 1) == 0
    rows = row_sizes((*array.shape, 1), dtype.itemsize)
    return base == scalar_dtype(kind) and (is_packed(block) or rows_fit(rows, only.type, only))


def _record_problems(array: npt.NDArray[Any], element: StructType, stride: int | None) -> list[str]:
    """Return what differs between the records of an array and the structure that one stands for."""
    dtype = array.dtype
    only = element.members[0] if len(element.members) == 1 else None
    if only is not None and isinstance(only.type, VectorType) and only.name not in (dtype.names or ()):
        problems = _component_problems(dtype, only.type, "")
    else:
        problems = _problems(dtype, element, "")
    if stride is not None and dtype.itemsize != stride:
        problems.append(f"a record has {dtype.itemsize} bytes, an element {stride}")
    if stride is None and array.size != 1:
        problems.append(f"the block is one record, and {array.size} were given")
    return problems


def _problems(dtype: np.dtype[Any], kind: StructType, path: str) -> list[str]:
    """Return what differs between a dtype with fields and a structure."""
    fields = fields_of(dtype)
    problems, taken = [], set()
    by_offset = {offset: name for name, (_, offset) in fields.items()}
    for member in kind.members:
        start = member.offset or 0
        # A module without debug names has members without a name: they are found by their place.
        name = member.name or by_offset.get(start, "")
        label = path + (name or f"the member at byte {start}")
        if name not in fields:
            problems.append(f"no field {label}")
            continue
        taken.add(name)
        field, offset = fields[name]
        if offset != start:
            problems.append(f"{label} is at byte {offset}, in the block at byte {start}")
        problems += _type_problems(field, member, label)
    # Where each member has its field, another one over the same bytes is a second name for them.
    surplus = [
        f"there is no member {path}{name}"
        for name, (field, offset) in fields.items()
        if name not in taken and _overlaps(kind, offset, offset + field.itemsize)
    ]
    return problems and problems + surplus


def _component_problems(dtype: np.dtype[Any], kind: VectorType, path: str) -> list[str]:
    """Return what differs between a dtype with a field for each component and a vector."""
    found = sorted((offset, name) for name, (_, offset) in fields_of(dtype).items())
    size = kind.component.size or 0
    problems = [
        f"{path}{name} is {dtype_name(dtype[name])} at byte {start}, which is no component of {kind.glsl}"
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
        for at, length in vectors(member.type, member, member.offset or 0)
    )


def _type_problems(field: np.dtype[Any], member: StructMember, label: str) -> list[str]:
    """Return what differs between the type of a field and that of its member."""
    base, shape = field.subdtype or (field, ())
    kind = innermost(member.type)
    if base.fields is None and (base.kind == "V" or base == np.uint8) and field.itemsize == member.size:
        return []  # bytes, taken as they are
    if base.kind == "c":
        base, shape = np.empty(0, base).real.dtype, (*shape, 2)
    if isinstance(kind, StructType) and (base.fields is not None or number_dtypes(kind) != {base}):
        if base.fields is None:
            return [f"{label} is {dtype_name(field)}, in the block the structure {kind.glsl}"]
        problems = _problems(base, kind, f"{label}.")
        stride = innermost_stride(member.type)
        if stride is not None and base.itemsize != stride:
            problems.append(f"an element of {label} has {base.itemsize} bytes, in the block {stride}")
    elif base.fields is not None and not shape and isinstance(member.type, VectorType):
        problems = _component_problems(base, member.type, f"{label}.")
    else:
        wanted = base if isinstance(kind, StructType) else scalar_dtype(kind)
        same = base == wanted or (wanted.kind == "V" and base.itemsize == wanted.itemsize)
        if not same:
            return [f"{label} is {dtype_name(field)}, in the block {member.type.glsl}"]
        problems = []
        if transposed(shape, member):
            problems.append(f"{label} has the shape {shape} of a {kind.glsl} in the wrong order")
        elif not is_packed(member.type, member) and not _rows_show(shape, base.itemsize, member):
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
    return vectors(kind, member, start)


def _rows_show(shape: Sequence[int], itemsize: int, member: StructMember) -> bool:
    """Return whether the shape of a field has rows as long as the strides of a member with padding."""
    rows = row_sizes(shape, itemsize)
    if isinstance(member.type, ArrayType):
        return rows_fit(rows, member.type, member)
    return uncut([*rows, itemsize * math.prod(shape)], member.type, member)

"""Blocks of shaders and NumPy arrays: checks that an array fits a block, and packing values by its layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.masks import refuse_mask
from vkgroup.base.numbers import exact_numbers
from vkgroup.base.suggestions import suggestion
from vkgroup.spirv import (
    ArrayType,
    MatrixType,
    PointerType,
    PushConstants,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
)
from vkgroup.spirv.array_layout import check_layout
from vkgroup.spirv.layout_text import number_dtypes, scalar_dtype


def checked_mapping(given: Any, what: str) -> Mapping[Any, Any]:
    """Return what an option holds by name, nothing for None; `InvalidDispatch` where it is no mapping."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidDispatch(f"{what} is a mapping from names to values; {given!r} was given.")
    return {} if given is None else given


def check_array(array: npt.NDArray[Any], block: StructType, what: str) -> None:
    """Check that an array's dtype, shape and size are those of a buffer block.

    An array of a block whose scalars are all of one type has that type. A block of several types takes
    structured arrays, and bytes (``np.uint8``), laid out as the block is.
    """
    kinds = number_dtypes(block)
    if array.dtype.fields is None and array.dtype.kind != "V":
        _check_dtype(array.dtype, kinds, what)
    check_layout(array, block, what)
    _check_size(array.nbytes, block, what)


def _check_dtype(dtype: np.dtype[Any], kinds: set[np.dtype[Any]], what: str) -> None:
    if dtype in kinds and len(kinds) == 1:
        return
    names = sorted(kind.name for kind in kinds)
    if len(kinds) > 1:
        if dtype == np.uint8:
            return
        raise InvalidDispatch(
            f"{what} holds several types ({', '.join(names)}); give a structured array or bytes (np.uint8)"
            f" of the block's layout instead of {dtype.name}."
        )
    wanted = names[0] if names else "nothing"
    if dtype.itemsize == next(iter(kinds)).itemsize and dtype.kind in "iuf":
        how = f"array.astype(np.{wanted}) for the values, or array.view(np.{wanted}) for the same bits"
    else:
        how = f"array.astype(np.{wanted})"
    raise InvalidDispatch(f"{what} holds {wanted}; the array given is {dtype.name}. Use {how}.")


def _check_size(nbytes: int, block: StructType, what: str) -> None:
    last = block.runtime_array
    if last is None or not isinstance(last.type, ArrayType) or last.type.stride is None:
        if nbytes < block.fixed_size:
            raise InvalidDispatch(f"{what} has {block.fixed_size} bytes; the array given has {nbytes}.")
        return
    start, stride = last.offset or 0, last.type.stride
    if nbytes < start + stride:
        raise InvalidDispatch(
            f"{what} has {start} bytes before its last array and {stride} for each element of that;"
            f" the array given has {nbytes}."
        )
    rest = (nbytes - start) % stride
    if rest and len(block.members) == 1:
        raise InvalidDispatch(
            f"{what} holds elements of {stride} bytes; the array given has {nbytes} bytes,"
            f" which is {rest} more than a whole number of them."
        )


# --- values into bytes --------------------------------------------------------------------------------


def pack_push(push: PushConstants | None, value: Any) -> bytes:
    """Return the bytes of push constants from offset 0 to the end of the block, padded to a multiple of four.

    The value is bytes, an array, a number, or a mapping from each member's name to its value.
    """
    if push is None:
        if value is None:
            return b""
        raise InvalidDispatch("Push constants were given, and the module declares none.")
    if value is None:
        names = ", ".join(member.name for member in push.members)
        raise InvalidDispatch(f"The module has push constants ({names}), and no values were given for them.")
    data = bytearray(-(-push.size // 4) * 4)
    if isinstance(value, Mapping):
        _pack_struct(data, 0, push.type, value, "The push constants")
        return bytes(data)
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    else:
        refuse_mask(value, "The push constants")
        kinds = number_dtypes(push.type)
        if len(kinds) == 1 and not isinstance(value, np.ndarray | np.generic):
            array = exact_numbers(value, next(iter(kinds)), "The push constants")
        else:
            array = np.asarray(value)
            if array.dtype.fields is None and array.dtype.kind != "V":
                _check_dtype(array.dtype, kinds, "The push-constant block")
        whole = array.nbytes >= push.size
        check_layout(array, push.type if whole else _from_first(push), "The push-constant block")
        raw = np.ascontiguousarray(array).tobytes()
        if array.dtype.fields is not None:
            raw = raw[: push.size if whole else push.size - push.offset]  # the rest is padding
    if len(raw) not in (push.size, push.size - push.offset):
        raise InvalidDispatch(f"The push constants have {push.size} bytes; {len(raw)} were given.")
    data[push.size - len(raw) : push.size] = raw
    return bytes(data)


def _from_first(push: PushConstants) -> StructType:
    """Return the block of push constants with offsets relative to its first member."""
    if not push.offset:
        return push.type
    members = (replace(member, offset=(member.offset or 0) - push.offset) for member in push.members)
    return replace(push.type, members=tuple(members))


def _pack_struct(data: bytearray, start: int, kind: StructType, values: Mapping[str, Any], what: str) -> None:
    names = [member.name for member in kind.members]
    surplus = [name for name in values if name not in names]
    if surplus:
        raise InvalidDispatch(f"{what} have no member {surplus[0]!r}.{suggestion(surplus[0], names)}")
    lacking = [name for name in names if name not in values]
    if lacking:
        raise InvalidDispatch(f"{what} lack a value for: {', '.join(lacking)}.")
    for member in kind.members:
        _pack_member(data, start + (member.offset or 0), member, values[member.name])


def _pack_member(data: bytearray, start: int, member: StructMember, value: Any) -> None:
    what = f"The member {member.name!r}"
    if isinstance(member.type, StructType):
        if not isinstance(value, Mapping):
            raise InvalidDispatch(f"{what} is a structure; give a mapping from its members' names.")
        _pack_struct(data, start, member.type, value, f"The members of {member.name!r}")
        return
    offsets, kind, shape = scalar_places(member.type, member)
    array = exact_numbers(value, kind, what)
    if array.shape != shape:
        raise InvalidDispatch(f"{what} has the shape {shape or 'of a scalar'}; the value has {array.shape}.")
    for offset, item in zip(offsets, array.reshape(-1), strict=True):
        data[start + offset : start + offset + kind.itemsize] = item.tobytes()


def scalar_places(kind: Type, member: StructMember) -> tuple[list[int], np.dtype[Any], tuple[int, ...]]:
    """Offsets of all scalars of a type in the order of a C-ordered array, their dtype, the array's shape.

    A matrix is an array of its columns, as in GLSL.
    """
    if isinstance(kind, ScalarType):
        return [0], scalar_dtype(kind), ()
    if isinstance(kind, PointerType):
        return [0], scalar_dtype(kind), ()
    if isinstance(kind, VectorType):
        dtype = scalar_dtype(kind)
        return [dtype.itemsize * n for n in range(kind.count)], dtype, (kind.count,)
    if isinstance(kind, MatrixType) and member.matrix_stride is not None:
        dtype, rows = scalar_dtype(kind), kind.column.count
        across, along = (
            (dtype.itemsize, member.matrix_stride)
            if member.row_major
            else (member.matrix_stride, dtype.itemsize)
        )
        offsets = [across * column + along * row for column in range(kind.columns) for row in range(rows)]
        return offsets, dtype, (kind.columns, rows)
    if isinstance(kind, ArrayType) and kind.length is not None and kind.stride is not None:
        inner, dtype, shape = scalar_places(kind.element, member)
        offsets = [kind.stride * n + offset for n in range(kind.length) for offset in inner]
        return offsets, dtype, (kind.length, *shape)
    raise InvalidDispatch(f"The member {member.name!r} ({kind.glsl}) cannot be packed; give bytes instead.")

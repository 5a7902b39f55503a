"""Composites: SPIR-V 3.52.12, OpVectorExtractDynamic to OpCopyLogical.

Each component keeps its cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    dims_of,
    dtype_of,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Leaf,
    Value,
    combine,
    filled,
    leaves_of,
    member_leaves,
    single,
    spread,
)
from vkgroup.spirv import ArrayType, CooperativeMatrixType, MatrixType, StructType, Type, VectorType

_UNDEFINED_COMPONENT = 0xFFFFFFFF


class CompositePart(NamedTuple):
    """The position of a part of a composite."""

    leaves: slice  # the leaves that hold it
    path: tuple[int, ...]  # indices into the first axes of each of them
    type: Type  # of the part


def locate(kind: Type, indices: Sequence[int]) -> CompositePart:
    """Return the part of a composite at literal indices."""
    start, index = 0, []
    for number in indices:
        if isinstance(kind, StructType):
            start += member_leaves(kind, number).start
            kind = kind.members[number].type
            continue
        index.append(number)
        if isinstance(kind, ArrayType):
            kind = kind.element
        elif isinstance(kind, MatrixType):
            kind = kind.column
        elif isinstance(kind, VectorType | CooperativeMatrixType):
            kind = kind.component
        else:
            raise TypeError(f"{kind} is not a composite")
    return CompositePart(slice(start, start + len(leaves_of(kind))), tuple(index), kind)


def _extract(site: Site) -> Function:
    """OpCompositeExtract: a part, without a copy."""
    whole = site.operand_types[0]
    if whole is None:
        raise TypeError("OpCompositeExtract needs a composite")
    part = locate(whole, site.literals)
    dims = tuple(leaf.dims for leaf in leaves_of(whole)[part.leaves])

    def run(value: Value) -> Value:
        leaves = tuple(leaf[part.path] for leaf in value.leaves[part.leaves])
        causes = tuple(
            None if cause is None else spread(cause, shape)[part.path]
            for cause, shape in zip(value.causes[part.leaves], dims, strict=True)
        )
        return Value(leaves, causes)

    return run


def _put(array: Data, dims: tuple[int, ...], index: tuple[int, ...], part: Data) -> Data:
    """Return a copy of an array with the part at `index` replaced; the array or the part may be uniform."""
    n = np.broadcast_shapes(array.shape[-1:], part.shape[-1:])
    result = np.empty((*dims, *n), array.dtype)
    result[...] = array
    result[index] = part
    return result


def _put_cause(
    cause: Causes | None, dims: tuple[int, ...], index: tuple[int, ...], part: Causes | None
) -> Causes | None:
    if cause is None and part is None:
        return None
    return _put(filled(cause), dims, index, filled(part))


def _insert(site: Site) -> Function:
    """OpCompositeInsert: a copy with one part replaced."""
    whole = site.operand_types[1]
    if whole is None:
        raise TypeError("OpCompositeInsert needs a composite")
    part = locate(whole, site.literals)
    dims = tuple(leaf.dims for leaf in leaves_of(whole)[part.leaves])

    def run(piece: Value, value: Value) -> Value:
        leaves, causes = list(value.leaves), list(value.causes)
        for offset, shape in enumerate(dims):
            number = part.leaves.start + offset
            leaves[number] = _put(leaves[number], shape, part.path, piece.leaves[offset])
            causes[number] = _put_cause(causes[number], shape, part.path, piece.causes[offset])
        return Value(tuple(leaves), tuple(causes))

    return run


def _stack(arrays: Sequence[Data], dims: Sequence[tuple[int, ...]], leaf: Leaf, dtype: DType) -> Data:
    """Concatenate parts with these `dims` along the first axis of a leaf."""
    n = np.broadcast_shapes(*(array.shape[-1:] for array in arrays))
    result = np.empty((*leaf.dims, *n), dtype)
    start = 0
    for array, shape in zip(arrays, dims, strict=True):
        if len(shape) == len(leaf.dims):  # a vector among the components of a vector
            result[start : start + shape[0]] = array
            start += shape[0]
        else:
            result[start] = array
            start += 1
    return result


def _construct(site: Site) -> Function:
    """OpCompositeConstruct: concatenated constituents; constituents of a vector may be vectors."""
    if isinstance(site.type, StructType):
        return lambda *parts: Value(
            tuple(leaf for part in parts for leaf in part.leaves),
            tuple(cause for part in parts for cause in part.causes),
        )
    if site.type is None:
        raise TypeError("OpCompositeConstruct needs a type")
    if isinstance(site.type, CooperativeMatrixType):
        return _fill(site.type)
    targets = leaves_of(site.type)
    shapes = [
        [leaves_of(kind)[number].dims for kind in site.operand_types if kind is not None]
        for number in range(len(targets))
    ]

    def run(*parts: Value) -> Value:
        leaves: list[Data] = []
        causes: list[Causes | None] = []
        for number, (leaf, dims) in enumerate(zip(targets, shapes, strict=True)):
            leaves.append(_stack([part.leaves[number] for part in parts], dims, leaf, leaf.scalar.dtype))
            own = [part.causes[number] for part in parts]
            if all(cause is None for cause in own):
                causes.append(None)
            else:
                causes.append(_stack([filled(cause) for cause in own], dims, leaf, np.dtype(np.uint16)))
        return Value(tuple(leaves), tuple(causes))

    return run


def _replicate(site: Site) -> Function:
    """OpCompositeConstructReplicateEXT: a composite of equal constituents."""
    kind, count = site.type, 1
    if isinstance(kind, VectorType):
        count = kind.count
    elif isinstance(kind, MatrixType):
        count = kind.columns
    elif isinstance(kind, ArrayType):
        count = kind.length or 0
    elif isinstance(kind, StructType):
        count = len(kind.members)
    construct = _construct(replace(site, operand_types=site.operand_types * count))
    return lambda one: construct(*[one] * count)


def _fill(kind: CooperativeMatrixType) -> Function:
    """Return the function that makes a cooperative matrix with all elements equal to its one constituent."""
    (leaf,) = leaves_of(kind)

    def run(value: Value) -> Value:
        cause = value.cause
        shape = (*leaf.dims, value.data.shape[-1])
        return single(np.broadcast_to(value.data, shape), None if cause is None else spread(cause, leaf.dims))

    return run


def _shuffle(site: Site) -> Function:
    """OpVectorShuffle: components of two vectors, in any order; index 0xFFFFFFFF means undefined."""
    first, second = (dims_of(kind)[0] for kind in site.operand_types)
    absent = np.array([index == _UNDEFINED_COMPONENT for index in site.literals])[:, None]
    index = [0 if number == _UNDEFINED_COMPONENT else number for number in site.literals]
    number = 0
    if absent.any():
        number = site.cause("uninitialised", "a component that OpVectorShuffle leaves undefined")
    # Consecutive components need no copy, and neither does a vector without chosen components.
    run = index == list(range(index[0], index[0] + len(index)))
    choose = slice(index[0], index[-1] + 1) if run else index
    one = max(index) < first

    def pick(array: Data, other: Data | None) -> Data:
        if other is None:
            return np.asarray(array[choose])
        n = np.broadcast_shapes(array.shape[-1:], other.shape[-1:])
        both = np.empty((first + second, *n), array.dtype)
        both[:first], both[first:] = array, other
        return np.asarray(both[choose])

    def function(a: Value, b: Value) -> Value:
        data = pick(a.data, None if one else b.data)
        cause = None
        if a.cause is not None or (not one and b.cause is not None):
            right = None if one else spread(filled(b.cause), (second,))
            cause = pick(spread(filled(a.cause), (first,)), right)
        return single(data, mark(cause, absent, number) if number else cause)

    return function


def _dynamic_index(value: Value, dtype: DType, count: int) -> tuple[Data, Data]:
    """Return an index clipped to the components, and where it was outside of them."""
    index = value.data.view(dtype)
    return np.minimum(index, dtype.type(count - 1)).astype(np.intp), index >= count


def _extract_dynamic(site: Site) -> Function:
    (count,) = dims_of(site.operand_types[0])
    dtype = dtype_of(site.operand_types[1], "unsigned")
    number = site.cause("bounds", f"a component outside a vector of {count} is read")

    def run(vector: Value, index: Value) -> Value:
        position, outside = _dynamic_index(index, dtype, count)
        cause = index.cause
        if vector.cause is not None:
            cause = combine(cause, _pick(spread(vector.cause, (count,)), position))
        return single(_pick(vector.data, position), mark(cause, outside, number))

    return run


def _pick(array: Data, position: Data) -> Data:
    """Return the component at `position`, (n,) or (1,), of (count, n) or (count, 1)."""
    if position.size == 1:
        return np.asarray(array[position.item()])
    if array.shape[-1] == 1:
        return np.asarray(array[position, 0])
    n = array.shape[-1]
    return np.asarray(np.ascontiguousarray(array).reshape(-1).take(position * n + np.arange(n)))


def _insert_dynamic(site: Site) -> Function:
    (count,) = dims_of(site.operand_types[0])
    dtype = dtype_of(site.operand_types[2], "unsigned")
    number = site.cause("bounds", f"a component outside a vector of {count} is written")

    def run(vector: Value, component: Value, index: Value) -> Value:
        position, outside = _dynamic_index(index, dtype, count)
        here = np.arange(count)[:, None] == position
        cause = None
        if vector.cause is not None or component.cause is not None:
            cause = np.where(here, filled(component.cause), filled(vector.cause))
        cause = mark(combine(cause, index.cause), outside, number)
        return single(np.where(here, component.data, vector.data), cause)

    return run


def _same(site: Site) -> Function:
    return lambda value: value


COMPOSITES: dict[str, Factory] = {
    "OpVectorExtractDynamic": _extract_dynamic,
    "OpVectorInsertDynamic": _insert_dynamic,
    "OpVectorShuffle": _shuffle,
    "OpCompositeConstruct": _construct,
    "OpCompositeConstructReplicateEXT": _replicate,
    "OpCompositeExtract": _extract,
    "OpCompositeInsert": _insert,
    "OpCopyObject": _same,
    # The types differ only in layout decorations, which do not affect values.
    "OpCopyLogical": _same,
}

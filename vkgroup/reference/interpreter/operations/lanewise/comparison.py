"""Bit, relational and logical instructions: SPIR-V 3.52.14 and 3.52.15, OpShiftRightLogical to OpSelect.

A logical and, or, any or all is defined where its defined operands determine the result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    constant_data,
    dims_of,
    dtype_of,
    elementwise,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, filled, single, spread
from vkgroup.spirv import Type


def _shift(kernel: np.ufunc, see: str) -> Factory:
    """Return the function of a shift; its amount may be of any width and counts as unsigned."""

    def factory(site: Site) -> Function:
        base_type, amount_type = site.operand_types
        base, amount, result = (
            dtype_of(base_type, see),
            dtype_of(amount_type, "unsigned"),
            dtype_of(site.type),
        )
        width = 8 * base.itemsize
        constant = constant_data(site, 1)
        safe = constant is not None and bool((constant.view(amount) < width).all())
        number = 0 if safe else site.cause("shift", f"a shift of {width} bits by {width} or more")

        def run(value: Value, by: Value) -> Value:
            shift = by.data.view(amount)
            cause = combine(value.cause, by.cause)
            if not safe:
                cause = mark(cause, shift >= width, number)
            if shift.dtype.itemsize != base.itemsize:
                shift = shift.astype(base)
            return single(kernel(value.data.view(base), shift.view(base)).view(result), cause)

        return run

    return factory


def _number_of(value: Value, kind: Type | None) -> Data:
    """Return an operand that counts bits as int64: read as unsigned, at most 2^62."""
    data = value.data.view(dtype_of(kind, "unsigned"))
    limit = data.dtype.type(min(2**62, np.iinfo(data.dtype).max))
    return np.asarray(np.minimum(data, limit).astype(np.int64))


def _field(site: Site, see: str) -> tuple[DType, int]:
    base = dtype_of(site.operand_types[0], see)
    width = 8 * base.itemsize
    return base, site.cause("shift", f"a field of bits ends after bit {width - 1}")


def _ones(count: Data, dtype: DType) -> Data:
    """Return numbers whose `count` low bits are set; NumPy defines shifts by the whole width, unlike C."""
    ones, width = np.iinfo(np.dtype(f"u{dtype.itemsize}")).max, 8 * dtype.itemsize
    return np.asarray(np.right_shift(dtype.type(ones), (width - count).astype(dtype)))


def _insert(site: Site) -> Function:
    """OpBitFieldInsert: replace bits from `offset` on by the low bits of `insert`."""
    dtype, number = _field(site, "unsigned")
    result, types = dtype_of(site.type), site.operand_types

    def run(base: Value, insert: Value, offset: Value, count: Value) -> Value:
        first, length = _number_of(offset, types[2]), _number_of(count, types[3])
        wrong = first + length > 8 * dtype.itemsize
        cause = mark(combine(base.cause, insert.cause, offset.cause, count.cause), wrong, number)
        shift = np.minimum(first, 8 * dtype.itemsize).astype(dtype)
        mask = np.left_shift(_ones(np.minimum(length, 8 * dtype.itemsize), dtype), shift)
        moved = np.left_shift(insert.data.view(dtype), shift)
        return single(((base.data.view(dtype) & ~mask) | (moved & mask)).view(result), cause)

    return run


def _extract(see: str) -> Factory:
    """Return OpBitFieldSExtract or UExtract: bits from `offset` on, extended as `see` says."""

    def factory(site: Site) -> Function:
        dtype, number = _field(site, see)
        result, types, width = dtype_of(site.type), site.operand_types, 8 * dtype.itemsize

        def run(base: Value, offset: Value, count: Value) -> Value:
            first, length = _number_of(offset, types[1]), _number_of(count, types[2])
            cause = mark(combine(base.cause, offset.cause, count.cause), first + length > width, number)
            length = np.minimum(length, width)
            up = np.maximum(width - length - np.minimum(first, width), 0).astype(dtype)
            data = np.right_shift(np.left_shift(base.data.view(dtype), up), (width - length).astype(dtype))
            # A signed shift by the whole width leaves the sign, but a field of zero bits is 0.
            data = data if see == "unsigned" else np.where(length == 0, dtype.type(0), data)
            return single(data.view(result), cause)

        return run

    return factory


def reverse(data: Data) -> Data:
    """Return unsigned integers with their bits in the other order."""
    width = 8 * data.dtype.itemsize
    step = 1
    while step < width:
        # Swap neighbouring fields of `step` bits: first single bits, then pairs, and so on.
        low = data.dtype.type((2**width - 1) // (2**step + 1))
        data = ((data >> step) & low) | ((data & low) << step)
        step *= 2
    return data


def count(data: Data) -> Data:
    """Return the number of bits set in unsigned integers, in their type: by pairs, nibbles, bytes."""
    octets = np.iinfo(data.dtype).max // 255
    pairs, nibbles, low = (data.dtype.type(octets * pattern) for pattern in (0x55, 0x33, 0x0F))
    data = data - ((data >> 1) & pairs)
    data = (data & nibbles) + ((data >> 2) & nibbles)
    data = (data + (data >> 4)) & low
    return np.asarray((data * data.dtype.type(octets)) >> (8 * data.dtype.itemsize - 8))


def _count(site: Site) -> Function:
    source, result = dtype_of(site.operand_types[0], "unsigned"), dtype_of(site.type)
    return lambda value: single(count(value.data.view(source)).astype(result, copy=False), value.cause)


BITS: dict[str, Factory] = {
    "OpShiftRightLogical": _shift(np.right_shift, "unsigned"),
    "OpShiftRightArithmetic": _shift(np.right_shift, "signed"),
    "OpShiftLeftLogical": _shift(np.left_shift, "unsigned"),
    "OpBitwiseOr": elementwise(np.bitwise_or, "result"),
    "OpBitwiseXor": elementwise(np.bitwise_xor, "result"),
    "OpBitwiseAnd": elementwise(np.bitwise_and, "result"),
    "OpNot": elementwise(np.bitwise_not, "result"),
    "OpBitFieldInsert": _insert,
    "OpBitFieldSExtract": _extract("signed"),
    "OpBitFieldUExtract": _extract("unsigned"),
    "OpBitReverse": elementwise(reverse, "unsigned"),
    "OpBitCount": _count,
}


def _not(kernel: np.ufunc) -> Callable[..., Data]:
    """Return the negation of a comparison: true also where an operand is NaN."""
    return lambda a, b: np.asarray(np.logical_not(kernel(a, b)))


def _ordered_not_equal(a: Data, b: Data) -> Data:
    return np.asarray((a < b) | (a > b))


def _unordered_equal(a: Data, b: Data) -> Data:
    return np.asarray(~_ordered_not_equal(a, b))


def _decided(cause: Causes, a: Value, b: Value, deciding: bool) -> Causes:
    """Return `cause`, but 0 where a defined operand has the value that decides the result."""
    for operand in (a, b):
        decides = operand.data == deciding
        if operand.cause is not None:
            decides = decides & (operand.cause == 0)
        cause = cause * ~decides
    return cause


def _logical(kernel: np.ufunc, deciding: bool) -> Factory:
    """Return the function of a logical and (False decides) or a logical or (True decides)."""

    def run(a: Value, b: Value) -> Value:
        cause = combine(a.causes[0], b.causes[0])
        if cause is not None:
            cause = _decided(cause, a, b, deciding)
        return Value((kernel(a.leaves[0], b.leaves[0]),), (cause,))

    return lambda site: run


def _over_components(kernel: np.ufunc, deciding: bool) -> Factory:
    """Return the function of OpAny (True decides) or OpAll (False decides)."""

    def factory(site: Site) -> Function:
        dims = dims_of(site.operand_types[0])

        def run(value: Value) -> Value:
            data, cause = value.data, value.cause
            if cause is not None:
                decides = (data == deciding) & (cause == 0)
                cause = np.asarray(spread(cause, dims).max(axis=0) * ~decides.any(axis=0))
            return single(kernel.reduce(data, axis=0), cause)

        return run

    return factory


def chosen(condition: Data, accept: Data, reject: Data) -> Data:
    """Return `accept` where the condition holds, else `reject`; for a uniform condition without a copy.

    Uses bit operations: NumPy's `where` branches for each number and is ten times slower in divergent lanes.
    """
    if condition.size == 1:
        return accept if condition.item() else reject
    if accept.dtype == np.bool_:
        return np.asarray((condition & accept) | (~condition & reject))
    bits = np.dtype(f"<i{accept.dtype.itemsize}")
    mask, other = condition.astype(bits), reject.view(bits)
    np.negative(mask, out=mask)
    result = (accept.view(bits) ^ other) & mask
    result ^= other
    return np.asarray(result).view(accept.dtype)


def _select(site: Site) -> Function:
    """OpSelect: a scalar condition chooses a whole object, a vector condition each component."""

    def run(condition: Value, accept: Value, reject: Value) -> Value:
        data = condition.leaves[0]
        leaves = tuple(
            chosen(data, first, second) for first, second in zip(accept.leaves, reject.leaves, strict=True)
        )
        return Value(
            leaves,
            tuple(
                condition.cause
                if first is None and second is None
                else combine(condition.cause, chosen(data, filled(first), filled(second)))
                for first, second in zip(accept.causes, reject.causes, strict=True)
            ),
        )

    return run


COMPARISONS: dict[str, Factory] = {
    "OpIsNan": elementwise(np.isnan),
    "OpIsInf": elementwise(np.isinf),
    "OpIEqual": elementwise(np.equal, "unsigned"),
    "OpINotEqual": elementwise(np.not_equal, "unsigned"),
    "OpUGreaterThan": elementwise(np.greater, "unsigned"),
    "OpSGreaterThan": elementwise(np.greater, "signed"),
    "OpUGreaterThanEqual": elementwise(np.greater_equal, "unsigned"),
    "OpSGreaterThanEqual": elementwise(np.greater_equal, "signed"),
    "OpULessThan": elementwise(np.less, "unsigned"),
    "OpSLessThan": elementwise(np.less, "signed"),
    "OpULessThanEqual": elementwise(np.less_equal, "unsigned"),
    "OpSLessThanEqual": elementwise(np.less_equal, "signed"),
    "OpFOrdEqual": elementwise(np.equal),
    "OpFUnordEqual": elementwise(_unordered_equal),
    "OpFOrdNotEqual": elementwise(_ordered_not_equal),
    "OpFUnordNotEqual": elementwise(np.not_equal),
    "OpFOrdLessThan": elementwise(np.less),
    "OpFUnordLessThan": elementwise(_not(np.greater_equal)),
    "OpFOrdGreaterThan": elementwise(np.greater),
    "OpFUnordGreaterThan": elementwise(_not(np.less_equal)),
    "OpFOrdLessThanEqual": elementwise(np.less_equal),
    "OpFUnordLessThanEqual": elementwise(_not(np.greater)),
    "OpFOrdGreaterThanEqual": elementwise(np.greater_equal),
    "OpFUnordGreaterThanEqual": elementwise(_not(np.less)),
    "OpLogicalEqual": elementwise(np.equal),
    "OpLogicalNotEqual": elementwise(np.not_equal),
    "OpLogicalNot": elementwise(np.logical_not),
    "OpLogicalAnd": _logical(np.logical_and, False),
    "OpLogicalOr": _logical(np.logical_or, True),
    "OpAny": _over_components(np.logical_or, True),
    "OpAll": _over_components(np.logical_and, False),
    "OpSelect": _select,
}

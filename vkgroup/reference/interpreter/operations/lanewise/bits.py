"""Bits: SPIR-V 3.52.14, OpShiftRightLogical to OpBitCount."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    constant_data,
    dtype_of,
    elementwise,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, combine, single
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

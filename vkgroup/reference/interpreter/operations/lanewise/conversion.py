"""Conversions between numbers, and of bits: SPIR-V 3.52.11, OpConvertFToU to OpBitcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.reference import dtypes
from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    arrays,
    casts,
    dims_of,
    dtype_of,
    elementwise,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, single, spread
from vkgroup.spirv import CooperativeMatrixType, ScalarType, Type, VectorType


def regroup(data: Data, dtype: DType, dims: tuple[int, ...]) -> Data:
    """Return the bits of a scalar's or vector's components as `dims` components of another width.

    The lower-numbered component has the lower bits.
    """
    n = data.shape[-1]
    together = np.ascontiguousarray(data.reshape(-1, n).T)
    return np.ascontiguousarray(together.view(dtype).T).reshape(*dims, n)


def regroup_cause(cause: Causes, before: tuple[int, ...], after: tuple[int, ...]) -> Causes:
    """Return the causes of regrouped components: the largest cause of all components that each overlaps."""
    old, new = math.prod(before), math.prod(after)
    whole = spread(cause, before).reshape(old, cause.shape[-1])
    whole = whole.reshape(new, old // new, -1).max(axis=1) if old > new else whole.repeat(new // old, axis=0)
    return whole.reshape(*after, cause.shape[-1])


def bitcast(site: Site) -> Function:
    """Return the function of an OpBitcast; pointers are numbers of 64 bits."""
    source, before = dtype_of(site.operand_types[0]), dims_of(site.operand_types[0])
    result, after = dtype_of(site.type), dims_of(site.type)
    if source == result:
        return lambda value: value
    if before == after:
        return lambda value: single(value.data.view(result), value.cause)

    def run(value: Value) -> Value:
        cause = None if value.cause is None else regroup_cause(value.cause, before, after)
        return single(regroup(value.data, result, after), cause)

    return run


def _in_range(data: Data, limits: np.iinfo[Any]) -> Data:
    """Return where a float, rounded towards zero, fits an integer type; NaN never fits."""
    least = data.dtype.type(limits.min)
    below = data.dtype.type(limits.min - 1)
    # If the float type has no number between min - 1 and min, min - 1 is rounded to min.
    above_least = data > below if below < least else data >= least
    return np.asarray(above_least & (data < data.dtype.type(limits.max + 1)))


def _float_to_integer(see: str) -> Factory:
    """Return OpConvertFToS or FToU: rounded towards zero, undefined out of the integers' range."""

    def factory(site: Site) -> Function:
        integer, result = dtype_of(site.type, see), dtype_of(site.type)
        limits = np.iinfo(integer)
        detail = f"a float that is no {see} integer of {8 * integer.itemsize} bits is converted to one"
        number = site.cause("conversion", detail)

        source = _encoding(site.operand_types[0])

        def run(value: Value) -> Value:
            data, cause = value.data, value.cause
            if source:
                data = dtypes.decoded(source, data)
            if data.dtype == np.float16:  # the ends of the range may be too large for it
                data = data.astype(np.float32)
            legal = _in_range(data, limits)
            if not legal.all():
                cause = mark(cause, ~legal, number)
                data = np.where(legal, data, 0)
            return single(data.astype(integer).view(result), cause)

        return run

    return factory


def _convert(kernel: Callable[[Data, DType], Data], see: str, target: str | None = None) -> Factory:
    """Return the function of a conversion that is defined for all integers.

    `kernel`: takes integers, read by `see`, and the type to convert to: the result's type, read by `target`.
    """

    def factory(site: Site) -> Function:
        views, wanted, result = casts(site, see), dtype_of(site.type, target or see), dtype_of(site.type)

        def run(value: Value) -> Value:
            return single(kernel(arrays((value,), views)[0], wanted).view(result), value.cause)

        return run

    return factory


def _integer_to_float(see: str) -> Factory:
    """Return OpConvertSToF or UToF: rounded to nearest even."""
    plain = _convert(_to_float, see)

    def factory(site: Site) -> Function:
        target = _encoding(site.type)
        if not target:
            return plain(site)
        views, saturated = casts(site, see), _SATURATED in site.decorations

        def run(value: Value) -> Value:
            # float64 holds all integers in the ranges of floats of 8 bits.
            numbers = arrays((value,), views)[0].astype(np.float64)
            return single(dtypes.encoded(target, numbers, saturated=saturated), value.cause)

        return run

    return factory


def _to_float(data: Data, dtype: DType) -> Data:
    # NumPy would round to float32 first; float64 holds all integers in the range of float16.
    return (data.astype(np.float64) if dtype == np.float16 else data).astype(dtype)


def _resized(data: Data, dtype: DType) -> Data:
    """Return the low bits, extended by zeros or copies of the sign."""
    return data.astype(dtype, copy=False)


def _saturated(data: Data, dtype: DType) -> Data:
    """Return the nearest numbers of a type."""
    own, limits = np.iinfo(data.dtype), np.iinfo(dtype)
    low, high = max(own.min, limits.min), min(own.max, limits.max)
    return np.clip(data, data.dtype.type(low), data.dtype.type(high)).astype(dtype)


_SATURATED = "SaturatedToLargestFloat8NormalConversionEXT"


def _encoding(kind: Type | None) -> str:
    """Return the encoding of a type's numbers if NumPy lacks it; else an empty string."""
    if isinstance(kind, VectorType | CooperativeMatrixType):
        kind = kind.component
    return kind.kind if isinstance(kind, ScalarType) and kind.kind in dtypes.ENCODINGS else ""


def _convert_float(site: Site) -> Function:
    """OpFConvert: rounded to nearest even."""
    result, saturated = dtype_of(site.type), _SATURATED in site.decorations
    source, target = _encoding(site.operand_types[0]), _encoding(site.type)

    def run(value: Value) -> Value:
        numbers = dtypes.decoded(source, value.data) if source else value.data
        if target:
            return single(dtypes.encoded(target, numbers, saturated=saturated), value.cause)
        return single(numbers.astype(result, copy=False), value.cause)

    return run


def quantize(data: Data) -> Data:
    """Return float32 rounded to values of float16; subnormal numbers become zero.

    SPIR-V 3.52.11, OpQuantizeToF16. The zero keeps the sign.
    """
    half = data.astype(np.float16)
    small = np.abs(half) < np.finfo(np.float16).smallest_normal
    return np.where(small, np.copysign(np.float32(0), data), half.astype(np.float32))


CONVERSIONS: dict[str, Factory] = {
    "OpConvertFToU": _float_to_integer("unsigned"),
    "OpConvertFToS": _float_to_integer("signed"),
    "OpConvertSToF": _integer_to_float("signed"),
    "OpConvertUToF": _integer_to_float("unsigned"),
    "OpUConvert": _convert(_resized, "unsigned"),
    "OpSConvert": _convert(_resized, "signed"),
    "OpFConvert": _convert_float,
    "OpQuantizeToF16": elementwise(quantize),
    "OpSatConvertSToU": _convert(_saturated, "signed", "unsigned"),
    "OpSatConvertUToS": _convert(_saturated, "unsigned", "signed"),
    # Addresses have 64 bits here; a conversion to another width keeps the low bits.
    "OpConvertPtrToU": _convert(_resized, "unsigned"),
    "OpConvertUToPtr": _convert(_resized, "unsigned"),
    "OpBitcast": bitcast,
}

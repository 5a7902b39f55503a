"""Texels to numbers and back: Vulkan 1.4, "Texel Decode" and "Texel Encode"."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.formats import Format
from vkgroup.reference.interpreter.values.value import Data

Flags = npt.NDArray[np.bool_]

#: The least exponent of every small float, and the mantissa of a half (Khronos Data Format, "11-bit floats").
_LEAST_EXPONENT, _HALF_MANTISSA = -14, 10


def decode(format: Format, elements: Data) -> Data:
    """Return red, green, blue and alpha of texels.

    Parameters
    ----------
    elements : (components, n) of the format's dtype.

    Returns
    -------
    (4, n) float32, 32-bit integers, or 64-bit integers where the format has those. Missing channels are
    0, 0, 0 and 1 ("Component Substitution").
    """
    channels = _unpack(format, elements[0]) if format.packed else list(elements)
    values = [
        _to_number(format, channel, bits) for channel, bits in zip(channels, _bits(format), strict=True)
    ]
    shape, dtype = values[0].shape, values[0].dtype
    for missing in range(len(values), 4):
        values.append(np.full(shape, 1 if missing == 3 else 0, dtype))
    return np.stack(values)


def encode(format: Format, values: Data) -> tuple[Data, Flags | None]:
    """Return the elements that hold values, and which of them are undefined.

    Parameters
    ----------
    values : at least as many rows as the format has channels, (4, n), of any number type.

    Returns
    -------
    elements, undefined : (components, n) of the format's dtype, and bool (components, n) or None. An
        integer that the format cannot hold is undefined, as is a NaN in a normalized format.
    """
    pairs = [_from_number(format, values[channel], bits) for channel, bits in enumerate(_bits(format))]
    undefined = [flags for _, flags in pairs if flags is not None]
    if format.packed:
        element = np.zeros(values.shape[1:], np.uint32)
        shift = 0
        for (channel, _), bits in zip(pairs, format.packed, strict=True):
            element |= channel.astype(np.uint32) << np.uint32(shift)
            shift += bits
        return element[None], np.logical_or.reduce(undefined)[None] if undefined else None
    elements = np.stack([channel for channel, _ in pairs])
    if not undefined:
        return elements, None
    nowhere = np.zeros(values.shape[1:], np.bool_)
    return elements, np.stack([nowhere if flags is None else flags for _, flags in pairs])


def _bits(format: Format) -> tuple[int, ...]:
    return format.packed or (format.dtype.itemsize * 8,) * format.components


def _unpack(format: Format, words: Data) -> list[Data]:
    channels, shift = [], 0
    for bits in format.packed:
        channels.append((words >> np.uint32(shift)) & np.uint32((1 << bits) - 1))
        shift += bits
    return channels


def _to_number(format: Format, channel: Data, bits: int) -> Data:
    numeric = format.numeric
    if numeric == "unorm":
        return channel.astype(np.float32) / np.float32((1 << bits) - 1)
    if numeric == "snorm":
        scaled = channel.astype(np.float32) / np.float32((1 << (bits - 1)) - 1)
        return np.asarray(np.maximum(scaled, np.float32(-1)))
    if numeric == "float":
        if format.packed:
            # A half has the same exponent below a sign and above ten bits of mantissa.
            halves = (channel << np.uint32(_HALF_MANTISSA + 5 - bits)).astype(np.uint16)
            return halves.view(np.float16).astype(np.float32)
        return channel.astype(np.float32)
    if bits == 64:
        return channel
    return channel.astype(np.uint32 if numeric == "uint" else np.int32)


def _from_number(format: Format, values: Data, bits: int) -> tuple[Data, Flags | None]:
    numeric = format.numeric
    if numeric in ("unorm", "snorm"):
        return _to_fixed(values, bits, numeric == "snorm", None if format.packed else format.dtype)
    if numeric == "float":
        if format.packed:
            return _to_small_float(values, bits - 5), None
        with np.errstate(over="ignore"):
            return values.astype(format.dtype), None
    least, most = (0, (1 << bits) - 1) if numeric == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return values.astype(format.dtype), _out_of_range(values, least, most)


def _out_of_range(values: Data, least: int, most: int) -> Flags | None:
    limits = np.iinfo(values.dtype)
    outside = np.zeros(values.shape, np.bool_)
    if limits.min < least:
        outside |= values < least
    if limits.max > most:
        outside |= values > most
    return outside if outside.any() else None


def _to_fixed(
    values: Data, bits: int, signed: bool, dtype: np.dtype[Any] | None
) -> tuple[Data, Flags | None]:
    """Round to the nearest ("Conversion From Floating-Point to Normalized Fixed-Point")."""
    most = (1 << (bits - signed)) - 1
    nan = np.isnan(values)
    clamped = np.clip(np.where(nan, 0, values.astype(np.float64)), -1.0 if signed else 0.0, 1.0)
    result = np.rint(clamped * most).astype(np.int64)
    return result.astype(dtype or np.dtype(np.uint32)), nan if nan.any() else None


def _to_small_float(values: Data, mantissa: int) -> Data:
    """Round to an unsigned float with five bits of exponent; negative numbers become zero."""
    with np.errstate(invalid="ignore"):
        given = values.astype(np.float64)
    positive = np.where(given > 0, given, 0.0)
    finite = np.where(np.isinf(positive), 0.0, positive)
    exponent = np.maximum(np.frexp(finite)[1] - 1, _LEAST_EXPONENT)
    step = np.ldexp(1.0, exponent - mantissa)
    most = (2 - 2.0**-mantissa) * 2.0**15
    rounded = np.minimum(np.rint(finite / step) * step, most)
    halves = np.where(np.isinf(positive), np.inf, rounded).astype(np.float16)
    bits = halves.view(np.uint16) >> np.uint16(_HALF_MANTISSA - mantissa)
    not_a_number = np.uint16((1 << (mantissa + 5)) - 1)
    return np.where(np.isnan(given), not_a_number, bits).astype(np.uint32)

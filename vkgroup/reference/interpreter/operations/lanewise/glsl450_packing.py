"""GLSL.std.450: numbers packed into one integer, the first component in the lowest bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.bitcast import bitcast, regroup, regroup_cause
from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    dtype_of,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, single


def _to_fixed(x: Data, dtype: DType) -> Data:
    """Return float32 between -1 (0, if unsigned) and 1, scaled to an integer type; halves go to even."""
    largest = np.float32(np.iinfo(dtype).max)
    least = np.float32(-1 if dtype.kind == "i" else 0)
    clamped = np.minimum(np.maximum(x, least), np.float32(1))
    return np.rint(np.where(np.isnan(clamped), np.float32(0), clamped) * largest).astype(dtype)


def _from_fixed(x: Data) -> Data:
    """Return integers as float32 between -1 (0, if unsigned) and 1."""
    return np.asarray(np.maximum(x.astype(np.float32) / np.float32(np.iinfo(x.dtype).max), np.float32(-1)))


def _pack(dtype: str, convert: Callable[[Data, DType], Data], detail: str) -> Factory:
    """Return a function that converts each component to `dtype` and joins them to 32 bits."""
    part = np.dtype(dtype)
    count = 4 // part.itemsize

    def factory(site: Site) -> Function:
        result = dtype_of(site.type)
        number = site.cause("math_domain", detail) if part.kind != "f" else 0

        def run(value: Value) -> Value:
            cause = value.cause
            if number:
                cause = mark(cause, np.isnan(value.data), number)
            if cause is not None:
                cause = regroup_cause(cause, (count,), ())
            return single(regroup(convert(value.data, part), result, ()), cause)

        return run

    return factory


def _unpack(dtype: str, convert: Callable[[Data], Data]) -> Factory:
    """Return a function that splits 32 bits into components of `dtype` and converts each."""
    part = np.dtype(dtype)
    count = 4 // part.itemsize

    def factory(site: Site) -> Function:
        def run(value: Value) -> Value:
            cause = None if value.cause is None else regroup_cause(value.cause, (), (count,))
            return single(convert(regroup(value.data, part, (count,))), cause)

        return run

    return factory


def _round(x: Data, dtype: DType) -> Data:
    return x.astype(dtype)


GLSL450_PACKING: dict[str, Factory] = {
    "PackSnorm4x8": _pack("<i1", _to_fixed, "packSnorm4x8() of a NaN"),
    "PackUnorm4x8": _pack("<u1", _to_fixed, "packUnorm4x8() of a NaN"),
    "PackSnorm2x16": _pack("<i2", _to_fixed, "packSnorm2x16() of a NaN"),
    "PackUnorm2x16": _pack("<u2", _to_fixed, "packUnorm2x16() of a NaN"),
    "PackHalf2x16": _pack("<f2", _round, ""),
    "PackDouble2x32": bitcast,
    "UnpackSnorm4x8": _unpack("<i1", _from_fixed),
    "UnpackUnorm4x8": _unpack("<u1", _from_fixed),
    "UnpackSnorm2x16": _unpack("<i2", _from_fixed),
    "UnpackUnorm2x16": _unpack("<u2", _from_fixed),
    "UnpackHalf2x16": _unpack("<f2", lambda x: x.astype(np.float32)),
    "UnpackDouble2x32": bitcast,
}

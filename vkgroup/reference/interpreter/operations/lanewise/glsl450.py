"""GLSL.std.450 on numbers: rounding, minima and maxima, blends, trigonometry, exponentials, bits, packing.

Transcendental functions are computed in float64 and rounded to the operand's type. Results are undefined for
operands for which GLSL 4.60, chapters 8.1 and 8.2, or Vulkan leaves them undefined, even if later revisions
of GLSL.std.450 require NaN. Packed numbers have the first component in the lowest bits.

"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np

from vkgroup.base.exact import fma
from vkgroup.reference.interpreter.operations.lanewise.conversion import bitcast, regroup, regroup_cause
from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    Kernel,
    Mask,
    dtype_of,
    elementwise,
    mark,
    partial,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, combine, leaves_of, single
from vkgroup.spirv import StructType


def fract(x: Data) -> Data:
    """Return x - floor(x)."""
    return np.asarray(x - np.floor(x))


def mix(x: Data, y: Data, a: Data) -> Data:
    """Return x * (1 - a) + y * a, each step rounded."""
    return np.asarray(x * (a.dtype.type(1) - a) + y * a)


def step(edge: Data, x: Data) -> Data:
    """Return 0 where x < edge, else 1."""
    return np.logical_not(x < edge).astype(x.dtype)


def smoothstep(edge0: Data, edge1: Data, x: Data) -> Data:
    """Return t * t * (3 - 2 t), where t is (x - edge0) / (edge1 - edge0) between 0 and 1."""
    number = x.dtype.type
    t = np.minimum(np.maximum((x - edge0) / (edge1 - edge0), number(0)), number(1))
    return np.asarray(t * t * (number(3) - number(2) * t))


def _minimum(kernel: np.ufunc, name: str) -> Factory:
    """Return FMin or FMax; `kernel` propagates NaN, so the result shows whether an operand is NaN."""

    def factory(site: Site) -> Function:
        number = site.cause("math_domain", f"{name}() of a NaN")

        def run(a: Value, b: Value) -> Value:
            data = kernel(a.leaves[0], b.leaves[0])
            return single(data, mark(combine(a.causes[0], b.causes[0]), np.isnan(data), number))

        return run

    return factory


def _clamp(low: np.ufunc, high: np.ufunc, undefined: Callable[[Data, Data, Data], Data]) -> Factory:
    """Return FClamp or NClamp: the smaller of `maximum` and the larger of `x` and `minimum`."""
    return partial(
        lambda x, minimum, maximum: np.asarray(high(low(x, minimum), maximum)),
        undefined,
        "math_domain",
        "clamp() where the minimum is above the maximum, or of a NaN",
    )


def _no_range(_: Data, minimum: Data, maximum: Data) -> Data:
    return np.greater(minimum, maximum)


def _no_clamp(x: Data, minimum: Data, maximum: Data) -> Data:
    # Negated, so that NaN is included.
    return np.asarray(~(minimum <= maximum) | np.isnan(x))


def _modf(site: Site) -> Function:
    """ModfStruct: fraction and whole number, both with the operand's sign."""

    def run(value: Value) -> Value:
        return Value(np.modf(value.data), (value.cause, value.cause))

    return run


def _frexp(site: Site) -> Function:
    """FrexpStruct: significand in [0.5, 1) and exponent; undefined for infinity and NaN."""
    exponent: DType = np.dtype(np.int32)
    if isinstance(site.type, StructType):
        exponent = leaves_of(site.type)[1].scalar.dtype
    number = site.cause("math_domain", "frexp() of an infinity or a NaN")

    def run(value: Value) -> Value:
        significand, power = np.frexp(value.data)
        cause = mark(value.cause, ~np.isfinite(value.data), number)
        return Value((significand, power.view(exponent)), (cause, cause))

    return run


def _ldexp(site: Site) -> Function:
    """Ldexp: x * 2^exp; undefined if the result or the exponent exceeds the largest of the type."""
    dtype = dtype_of(site.operand_types[0])
    signed = dtype_of(site.operand_types[1], "signed")
    limit = np.finfo(dtype).maxexp
    number = site.cause("math_domain", f"ldexp() by more than {limit}, or with too large a result")

    def run(x: Value, exponent: Value) -> Value:
        power = exponent.data.view(signed)
        bounded = np.clip(power, max(-9999, np.iinfo(signed).min), min(9999, np.iinfo(signed).max))
        data = np.asarray(np.ldexp(x.data, bounded.astype(np.int32)))
        undefined = (power > limit) | (np.isinf(data) & np.isfinite(x.data))
        return single(data, mark(combine(x.cause, exponent.cause), undefined, number))

    return run


_EXPONENT_BITS, _EXPONENT_BIAS = np.uint64(52), 1023


def find_msb(data: Data) -> Data:
    """Return the position of the highest bit set of unsigned integers; all bits set for 0."""
    # Clear the bit after the highest one, so that rounding to float64 cannot reach the next power of two.
    exact = (data & ~(data >> data.dtype.type(1))).astype(np.float64)
    position = (exact.view(np.uint64) >> _EXPONENT_BITS).astype(np.int64) - _EXPONENT_BIAS
    return np.where(data == 0, -1, position).astype(data.dtype)


def find_lsb(data: Data) -> Data:
    """Return the position of the lowest bit set of unsigned integers; all bits set for 0."""
    return find_msb(data & (~data + data.dtype.type(1)))


def find_signed_msb(data: Data) -> Data:
    """Return the position of the highest bit that differs from the sign bit; -1 for 0 and -1."""
    flipped = data ^ (data >> data.dtype.type(8 * data.dtype.itemsize - 1))
    return find_msb(flipped.view(f"<u{data.dtype.itemsize}")).view(data.dtype)


def _integer_clamp(see: str) -> Factory:
    return partial(
        lambda x, minimum, maximum: np.asarray(np.minimum(np.maximum(x, minimum), maximum)),
        lambda x, minimum, maximum: np.greater(minimum, maximum),
        "math_domain",
        "clamp() where the minimum is above the maximum",
        see,
    )


def in_double(function: np.ufunc) -> Kernel:
    """Return a kernel that computes in float64 and rounds once, with NumPy's internal buffers."""

    def kernel(*operands: Data) -> Data:
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        result = np.empty(shape, operands[0].dtype)
        return np.asarray(function(*operands, out=result, dtype=np.float64, casting="same_kind"))

    return kernel


def inverse_sqrt(x: Data) -> Data:
    """Return 1 / sqrt(x), computed in float64 and rounded once."""
    return np.asarray(1.0 / np.sqrt(x, dtype=np.float64)).astype(x.dtype, copy=False)


def _scale(factor: float) -> Kernel:
    """Return a kernel that multiplies by a constant, itself rounded to the operand's type first."""
    return lambda x: np.multiply(x, x.dtype.type(factor))


def _everywhere(function: np.ufunc) -> Factory:
    return elementwise(in_double(function))


def _where(function: np.ufunc, undefined: Mask, detail: str) -> Factory:
    return partial(in_double(function), undefined, "math_domain", detail)


def _beyond_one(x: Data) -> Data:
    return np.greater(np.absolute(x), 1)


def _pow_undefined(x: Data, y: Data) -> Data:
    return np.asarray((x < 0) | ((x == 0) & (y <= 0)))


def _to_fixed(x: Data, dtype: DType) -> Data:
    """Return float32 between -1 (0, if unsigned) and 1, scaled to an integer type; halves round to even."""
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


GLSL450: dict[str, Factory] = {
    # Round may round halves in either direction; here they round to even.
    "Round": elementwise(np.rint),
    "RoundEven": elementwise(np.rint),
    "Trunc": elementwise(np.trunc),
    "Floor": elementwise(np.floor),
    "Ceil": elementwise(np.ceil),
    "Fract": elementwise(fract),
    "FAbs": elementwise(np.absolute),
    "FSign": partial(np.sign, np.isnan, "math_domain", "sign() of a NaN"),
    "FMin": _minimum(np.minimum, "min"),
    "FMax": _minimum(np.maximum, "max"),
    "NMin": elementwise(np.fmin),
    "NMax": elementwise(np.fmax),
    "FClamp": _clamp(np.maximum, np.minimum, _no_clamp),
    "NClamp": _clamp(np.fmax, np.fmin, _no_range),
    "FMix": elementwise(mix),
    "Step": elementwise(step),
    "SmoothStep": partial(
        smoothstep,
        lambda edge0, edge1, x: np.greater_equal(edge0, edge1),
        "math_domain",
        "smoothstep() where the first edge is not below the second",
    ),
    "Fma": elementwise(fma),
    "ModfStruct": _modf,
    "FrexpStruct": _frexp,
    "Ldexp": _ldexp,
    "SAbs": elementwise(np.absolute, "signed"),
    "SSign": elementwise(np.sign, "signed"),
    "UMin": elementwise(np.minimum, "unsigned"),
    "SMin": elementwise(np.minimum, "signed"),
    "UMax": elementwise(np.maximum, "unsigned"),
    "SMax": elementwise(np.maximum, "signed"),
    "UClamp": _integer_clamp("unsigned"),
    "SClamp": _integer_clamp("signed"),
    "FindILsb": elementwise(find_lsb, "unsigned"),
    "FindUMsb": elementwise(find_msb, "unsigned"),
    "FindSMsb": elementwise(find_signed_msb, "signed"),
    "Radians": elementwise(_scale(pi / 180)),
    "Degrees": elementwise(_scale(180 / pi)),
    "Sin": _everywhere(np.sin),
    "Cos": _everywhere(np.cos),
    "Tan": _everywhere(np.tan),
    "Asin": _where(np.arcsin, _beyond_one, "asin() of a number beyond 1"),
    "Acos": _where(np.arccos, _beyond_one, "acos() of a number beyond 1"),
    "Atan": _everywhere(np.arctan),
    "Sinh": _everywhere(np.sinh),
    "Cosh": _everywhere(np.cosh),
    "Tanh": _everywhere(np.tanh),
    "Asinh": _everywhere(np.arcsinh),
    "Acosh": _where(np.arccosh, lambda x: np.less(x, 1), "acosh() of a number below 1"),
    "Atanh": _where(
        np.arctanh, lambda x: np.greater_equal(np.absolute(x), 1), "atanh() of 1, -1 or a number beyond"
    ),
    "Atan2": _where(np.arctan2, lambda y, x: np.equal(x, 0) & np.equal(y, 0), "atan() of 0 over 0"),
    "Pow": _where(np.power, _pow_undefined, "pow() of a negative number, or of 0 to a power not above 0"),
    "Exp": _everywhere(np.exp),
    "Exp2": _everywhere(np.exp2),
    "Log": _where(np.log, lambda x: np.less_equal(x, 0), "log() of a number not above 0"),
    "Log2": _where(np.log2, lambda x: np.less_equal(x, 0), "log2() of a number not above 0"),
    # The square root of IEEE 754 in every width; for float16 see `arithmetic`.
    "Sqrt": partial(np.sqrt, lambda x: np.less(x, 0), "math_domain", "sqrt() of a negative number"),
    "InverseSqrt": partial(
        inverse_sqrt,
        lambda x: np.less_equal(x, 0),
        "math_domain",
        "inversesqrt() of a number not above 0",
    ),
    "PackSnorm4x8": _pack("<i1", _to_fixed, "packSnorm4x8() of a NaN"),
    "PackUnorm4x8": _pack("<u1", _to_fixed, "packUnorm4x8() of a NaN"),
    "PackSnorm2x16": _pack("<i2", _to_fixed, "packSnorm2x16() of a NaN"),
    "PackUnorm2x16": _pack("<u2", _to_fixed, "packUnorm2x16() of a NaN"),
    "PackHalf2x16": _pack("<f2", lambda x, dtype: x.astype(dtype), ""),
    "PackDouble2x32": bitcast,
    "UnpackSnorm4x8": _unpack("<i1", _from_fixed),
    "UnpackUnorm4x8": _unpack("<u1", _from_fixed),
    "UnpackSnorm2x16": _unpack("<i2", _from_fixed),
    "UnpackUnorm2x16": _unpack("<u2", _from_fixed),
    "UnpackHalf2x16": _unpack("<f2", lambda x: x.astype(np.float32)),
    "UnpackDouble2x32": bitcast,
}

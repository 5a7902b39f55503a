"""Legal results of single operations: Vulkan 1.4, appendix A, "Precision of Individual Operations".

Each instruction is a row of `PRECISION` or `INHERITED`: the range of its results, computed from its operands
with the error of each step. Where the tables derive the precision from a formula ("inherited from"), the row
is that formula. The range is then symmetric around the exact result and includes the farthest outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.lanewise.arithmetic import MIXED_DOTS
from vkgroup.reference.interpreter.operations.spans import (
    Float64,
    FloatFormat,
    Span,
    anything_where,
    exactly,
    negative,
    part,
    union,
    where,
)
from vkgroup.spirv import ScalarType

Formula = Callable[..., Span]


def format_of(scalar: ScalarType) -> FloatFormat:
    """Return Vulkan's requirements on a floating-point type; double has the requirements of single."""
    limits = np.finfo(scalar.dtype)  # type: ignore[type-var]
    digits = 11 if scalar.bits == 16 else 24
    return FloatFormat(digits, float(limits.smallest_normal), float(limits.max), scalar.bits == 16)


def legal_range(
    name: str, scalar: ScalarType, operands: Sequence[npt.ArrayLike], result: npt.ArrayLike
) -> Span:
    """Return the range of results that an implementation may compute.

    `name`: of the instruction, ``"OpFDiv"`` or ``"GLSL.std.450 Sin"``.
    `scalar`: its floating-point type.
    `operands`: exact values; vectors with their components along the first axis.
    `result`: the result of the reference.

    Returns
    -------
    Span
        float64 of the result's shape, both ends inclusive. Without a requirement the range is -infinity
        to infinity, and NaN is legal: outside of a function's stated range, for infinite operands, and if
        the result is NaN. An instruction without rounding may only flush subnormal numbers.
    """
    center = np.asarray(result, np.float64)
    if name in UNPROMISED:
        return Span(np.full(center.shape, -np.inf), np.full(center.shape, np.inf))
    form = format_of(scalar)
    formula = PRECISION.get(name) or INHERITED.get(name)
    with np.errstate(all="ignore"):
        if formula is None:
            legal = form.flushed(exactly(center))
        elif formula is _fixed_point:
            legal = _fixed_point(form, exactly(center))
        else:
            legal = formula(form, *(form.flushed(exactly(operand)) for operand in operands))
        if name in INHERITED:
            legal = _around(form, center, legal)
        return anything_where(np.isnan(center), Span(*np.broadcast_arrays(*legal)))


def _around(form: FloatFormat, center: Float64, outcomes: Span) -> Span:
    """Return the symmetric range around the rounded exact result that includes the farthest outcome."""
    infinite = np.isinf(center)
    distance = np.maximum(np.abs(center - outcomes.low), np.abs(center - outcomes.high))
    distance = distance + np.where(outcomes.low == outcomes.high, 0.0, form.ulp(center))
    low, high = center - distance, center + distance
    low, high = np.where(low < -form.largest, -np.inf, low), np.where(high > form.largest, np.inf, high)
    return where(infinite, union(outcomes, exactly(center)), Span(low, high))


def _fixed_point(form: FloatFormat, center: Span) -> Span:
    """Unpack instructions of fixed point: a division of integers, whose result is `center`."""
    return where(center.low == 0, center, form.within_ulps(center, 2.5))


def _ldexp(form: FloatFormat, x: Span, exponent: Span) -> Span:
    """Ldexp: exact, except for subnormal numbers."""
    whole = exponent.low.astype(np.int64).clip(-9999, 9999).astype(np.int32)
    return form.rounded(Span(np.ldexp(x.low, whole), np.ldexp(x.high, whole)))


def _vector_times_matrix(form: FloatFormat, vector: Span, matrix: Span) -> Span:
    return _dot(form, part(vector, (slice(None), None)), _transposed(matrix))


def _matrix_times_vector(form: FloatFormat, matrix: Span, vector: Span) -> Span:
    return _dot(form, matrix, part(vector, (slice(None), None)))


def _matrix_times_matrix(form: FloatFormat, left: Span, right: Span) -> Span:
    columns = part(_transposed(right), (slice(None), slice(None), None))
    return _dot(form, part(left, (slice(None), None)), columns)


def _transposed(matrix: Span) -> Span:
    return Span(matrix.low.swapaxes(0, 1), matrix.high.swapaxes(0, 1))


def _dot(form: FloatFormat, x: Span, y: Span) -> Span:
    if x.low.ndim < 2:
        return form.multiply(x, y)
    return form.sum([form.multiply(part(x, k), part(y, k)) for k in range(len(x.low))])


def _reciprocal_root(form: FloatFormat, x: Span) -> Span:
    ends = Span(1 / np.sqrt(x.high), 1 / np.sqrt(x.low))
    return anything_where(~(x.low > 0) | np.isinf(x.high), form.within_ulps(ends, 2.0))


def _root(form: FloatFormat, x: Span) -> Span:
    """Sqrt: 1 / inversesqrt(x); the root of zero is zero (GLSL.std.450, Sqrt)."""
    zero = (x.low == 0) & (x.high == 0)
    return where(zero, x, form.divide(exactly(1.0), _reciprocal_root(form, x)))


def _length(form: FloatFormat, x: Span) -> Span:
    return _root(form, _dot(form, x, x))


def _exponential(function: Callable[[Float64], Float64]) -> Formula:
    def formula(form: FloatFormat, x: Span) -> Span:
        return form.increasing(function, x, lambda a: (1 if form.half else 3) + 2 * np.abs(a))

    return formula


def _logarithm(function: Callable[[Float64], Float64]) -> Formula:
    def formula(form: FloatFormat, x: Span) -> Span:
        near = (x.low <= 2) & (x.high >= 0.5)
        outside = form.increasing(function, x, lambda a: np.full_like(a, 3.0))
        absolute = 2.0**-7 if form.half else 2.0**-21
        inside = form.widened(Span(function(x.low), function(x.high)), absolute, absolute)
        return anything_where(~(x.low > 0), where(near, union(inside, outside), outside))

    return formula


_exp, _exp2, _log, _log2 = (
    _exponential(np.exp),
    _exponential(np.exp2),
    _logarithm(np.log),
    _logarithm(np.log2),
)


def _wave(function: Callable[[Float64], Float64]) -> Formula:
    """Sin, Cos: an absolute error between -pi and pi, and no requirement for other angles."""

    def formula(form: FloatFormat, x: Span) -> Span:
        absolute = 2.0**-7 if form.half else 2.0**-11
        ends = union(exactly(function(x.low)), exactly(function(x.high)))
        beyond = (x.low < -pi) | (x.high > pi)
        return anything_where(beyond, form.widened(ends, absolute, absolute))

    return formula


_sin, _cos = _wave(np.sin), _wave(np.cos)


def _quotient(over: Formula, under: Formula) -> Formula:
    return lambda form, x: form.divide(over(form, x), under(form, x))


def _arc(form: FloatFormat, y: Span, x: Span) -> Span:
    """Atan2: 4096 ULP (half: 5). The extremes are at the corners, except across the branch cut."""
    corners = union(*(exactly(np.arctan2(b, a)) for b in y for a in x))
    cut = (y.low <= 0) & (y.high >= 0) & (x.low < 0) & ((y.low < y.high) | (y.low == 0))
    around = where(cut, union(exactly(-pi), exactly(pi)), corners)
    undefined = (y.low <= 0) & (y.high >= 0) & (x.low <= 0) & (x.high >= 0)
    wide = form.within_ulps(Span(*np.broadcast_arrays(*around)), 5.0 if form.half else 4096.0)
    return anything_where(undefined, wide)


def _atan(form: FloatFormat, x: Span) -> Span:
    return form.increasing(np.arctan, x, lambda a: np.full_like(a, 5.0 if form.half else 4096.0))


def _one_minus_square(form: FloatFormat, x: Span) -> Span:
    return form.subtract(exactly(1.0), form.multiply(x, x))


def _hyperbolic(combine: str) -> Formula:
    """Sinh, Cosh: (exp(x) - exp(-x)) / 2 and (exp(x) + exp(-x)) / 2; halving is exact."""

    def formula(form: FloatFormat, x: Span) -> Span:
        step = form.subtract if combine == "-" else form.add
        return form.multiply(step(_exp(form, x), _exp(form, negative(x))), exactly(0.5))

    return formula


_sinh, _cosh = _hyperbolic("-"), _hyperbolic("+")


def _area(one: float) -> Formula:
    """Asinh, Acosh: log(x + sqrt(x * x +- 1))."""

    def formula(form: FloatFormat, x: Span) -> Span:
        root = _root(form, form.add(form.multiply(x, x), exactly(one)))
        return _log(form, form.add(x, root))

    return formula


def _atanh(form: FloatFormat, x: Span) -> Span:
    ratio = form.divide(form.add(exactly(1.0), x), form.subtract(exactly(1.0), x))
    return form.multiply(_log(form, ratio), exactly(0.5))


def _remainder(integral: Callable[[Float64], Float64]) -> Formula:
    """OpFRem, OpFMod: x - y * trunc(x / y) and x - y * floor(x / y)."""

    def formula(form: FloatFormat, x: Span, y: Span) -> Span:
        quotient = form.divide(x, y)
        whole = Span(integral(quotient.low), integral(quotient.high))
        return form.subtract(x, form.multiply(y, whole))

    return formula


def _mix(form: FloatFormat, x: Span, y: Span, a: Span) -> Span:
    """FMix: x * (1 - a) + y * a, and the formulas that follow from it by distribution."""
    rest = form.multiply(x, form.subtract(exactly(1.0), a))
    plain = form.add(rest, form.multiply(y, a))
    stepped = form.add(x, form.multiply(a, form.subtract(y, x)))
    spread = form.sum([x, negative(form.multiply(x, a)), form.multiply(y, a)])
    return union(plain, stepped, spread)


def _smoothstep(form: FloatFormat, edge0: Span, edge1: Span, x: Span) -> Span:
    t = form.divide(form.subtract(x, edge0), form.subtract(edge1, edge0))
    t = Span(np.clip(t.low, 0.0, 1.0), np.clip(t.high, 0.0, 1.0))
    slope = form.subtract(exactly(3.0), form.multiply(exactly(2.0), t))
    return form.multiply(form.multiply(t, t), slope)


def _cross(form: FloatFormat, x: Span, y: Span) -> Span:
    following, last = [1, 2, 0], [2, 0, 1]
    first = form.multiply(part(x, following), part(y, last))
    return form.subtract(first, form.multiply(part(y, following), part(x, last)))


def _reflect(form: FloatFormat, incident: Span, normal: Span) -> Span:
    twice = form.multiply(exactly(2.0), _dot(form, normal, incident))
    return form.subtract(incident, form.multiply(twice, normal))


def _refract(form: FloatFormat, incident: Span, normal: Span, ratio: Span) -> Span:
    cosine = _dot(form, normal, incident)
    k = form.subtract(
        exactly(1.0), form.multiply(form.multiply(ratio, ratio), _one_minus_square(form, cosine))
    )
    none, always = k.high < 0, k.low >= 0
    root = _root(form, Span(np.maximum(k.low, 0.0), np.maximum(k.high, 0.0)))
    slope = form.add(form.multiply(ratio, cosine), root)
    bent = form.subtract(form.multiply(ratio, incident), form.multiply(slope, normal))
    zero = exactly(np.zeros_like(bent.low))
    return where(none, zero, where(always, bent, union(bent, zero)))


def _rounded_up_or_down(form: FloatFormat, x: Span) -> Span:
    """Round: halves are rounded up or down."""
    half = np.abs(x.low - np.trunc(x.low)) == 0.5
    return where(half, Span(np.floor(x.low), np.ceil(x.high)), Span(np.rint(x.low), np.rint(x.high)))


def _scaled(factor: float) -> Formula:
    """Radians, Degrees: times a correctly rounded constant."""
    return lambda form, x: form.multiply(x, form.rounded(exactly(factor)))


GLSL = "GLSL.std.450 "

PRECISION: dict[str, Formula] = {
    "OpFAdd": FloatFormat.add,
    "OpFSub": FloatFormat.subtract,
    "OpFMul": FloatFormat.multiply,
    "OpVectorTimesScalar": FloatFormat.multiply,
    "OpMatrixTimesScalar": FloatFormat.multiply,
    "OpOuterProduct": lambda form, x, y: form.multiply(part(x, None), part(y, (slice(None), None))),
    "OpFDiv": FloatFormat.divide,
    "OpConvertSToF": FloatFormat.rounded,
    "OpConvertUToF": FloatFormat.rounded,
    "OpFConvert": FloatFormat.rounded,
    **{f"{GLSL}Unpack{form}": _fixed_point for form in ("Snorm4x8", "Unorm4x8", "Snorm2x16", "Unorm2x16")},
    GLSL + "Ldexp": _ldexp,
    GLSL + "Round": _rounded_up_or_down,
    GLSL + "Exp": _exp,
    GLSL + "Exp2": _exp2,
    GLSL + "Log": _log,
    GLSL + "Log2": _log2,
    GLSL + "InverseSqrt": _reciprocal_root,
    GLSL + "Sin": _sin,
    GLSL + "Cos": _cos,
    GLSL + "Atan": _atan,
    GLSL + "Atan2": _arc,
}
"""Formulas of the results."""

INHERITED: dict[str, Formula] = {
    "OpFRem": _remainder(np.trunc),
    "OpFMod": _remainder(np.floor),
    "OpDot": _dot,
    "OpVectorTimesMatrix": _vector_times_matrix,
    "OpMatrixTimesVector": _matrix_times_vector,
    "OpMatrixTimesMatrix": _matrix_times_matrix,
    GLSL + "Fma": lambda form, a, b, c: form.add(form.multiply(a, b), c),
    GLSL + "Pow": lambda form, x, y: _exp2(form, form.multiply(y, _log2(form, x))),
    GLSL + "Sqrt": _root,
    GLSL + "Radians": _scaled(pi / 180),
    GLSL + "Degrees": _scaled(180 / pi),
    GLSL + "Tan": _quotient(_sin, _cos),
    GLSL + "Asin": lambda form, x: _arc(form, x, _root(form, _one_minus_square(form, x))),
    GLSL + "Acos": lambda form, x: _arc(form, _root(form, _one_minus_square(form, x)), x),
    GLSL + "Sinh": _sinh,
    GLSL + "Cosh": _cosh,
    GLSL + "Tanh": _quotient(_sinh, _cosh),
    GLSL + "Asinh": _area(1.0),
    GLSL + "Acosh": _area(-1.0),
    GLSL + "Atanh": _atanh,
    GLSL + "Length": _length,
    GLSL + "Distance": lambda form, x, y: _length(form, form.subtract(x, y)),
    GLSL + "Cross": _cross,
    GLSL + "Normalize": lambda form, x: form.multiply(x, _reciprocal_root(form, _dot(form, x, x))),
    GLSL + "Reflect": _reflect,
    GLSL + "Refract": _refract,
    GLSL + "FMix": _mix,
    GLSL + "SmoothStep": _smoothstep,
}
"""Formulas whose outcomes bound the error, not the result itself."""

UNPROMISED = frozenset({GLSL + "Determinant", GLSL + "MatrixInverse", *MIXED_DOTS})
"""Instructions of undefined precision. Instructions in no table do not round (Floor, FMin, ...)."""

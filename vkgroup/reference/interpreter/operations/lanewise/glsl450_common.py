"""GLSL.std.450: rounding, signs, minima and maxima, clamps, blends and steps of floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    dtype_of,
    elementwise,
    mark,
    partial,
)
from vkgroup.reference.interpreter.operations.lanewise.fma import fma
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
    """Return FMin or FMax; `kernel` passes NaN on, so the result shows whether an operand is NaN."""

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
    # Negated, so that a NaN is caught with the rest.
    return np.asarray(~(minimum <= maximum) | np.isnan(x))


def _modf(site: Site) -> Function:
    """ModfStruct: fraction and whole number, both with the operand's sign."""

    def run(value: Value) -> Value:
        return Value(np.modf(value.data), (value.cause, value.cause))

    return run


def _frexp(site: Site) -> Function:
    """FrexpStruct: significand in [0.5, 1) and exponent; of an infinity or a NaN undefined."""
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
    """Ldexp: x * 2^exp, undefined where too large, or where the exponent is above the type's largest."""
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


GLSL450_COMMON: dict[str, Factory] = {
    # Halves go either way in Round; here to even.
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
}

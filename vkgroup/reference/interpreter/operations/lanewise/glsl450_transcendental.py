"""GLSL.std.450: angles, trigonometry, exponentials, logarithms, roots.

Computed in float64 and rounded to the operand's type; of float64 itself NumPy's result. Where the instruction
is undefined for some operands (revisions of the specification before NaN was promised, which GLSL 4.60,
chapters 8.1 and 8.2, still follows; Vulkan leaves all of them undefined that mathematics does), so is the
result here.
"""

from __future__ import annotations

from math import pi

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Kernel,
    Mask,
    elementwise,
    partial,
)
from vkgroup.reference.interpreter.values.value import Data


def in_double(function: np.ufunc) -> Kernel:
    """Return a kernel that computes in float64 and rounds once, both in NumPy's own small buffers."""

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


GLSL450_TRANSCENDENTAL: dict[str, Factory] = {
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
    # IEEE 754's own square root in every width: see `arithmetic` for float16.
    "Sqrt": partial(np.sqrt, lambda x: np.less(x, 0), "math_domain", "sqrt() of a negative number"),
    "InverseSqrt": partial(
        inverse_sqrt,
        lambda x: np.less_equal(x, 0),
        "math_domain",
        "inversesqrt() of a number not above 0",
    ),
}

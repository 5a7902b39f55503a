"""Floating-point arithmetic: SPIR-V 3.52.13, OpFAdd to OpVectorTimesScalar and OpFmaKHR.

Each operation is rounded to nearest even in the operands' own width. NumPy computes float16 in float32 and
rounds again, which for one +, -, *, / or square root gives the same (Figueroa, "When is double rounding
innocuous?", 1995: 24 bits are at least 2 * 11 + 2).
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import Factory, elementwise, partial
from vkgroup.reference.interpreter.operations.lanewise.fma import fma
from vkgroup.reference.interpreter.values.value import Data


def _zero_divisor(_: Data, divisor: Data) -> Data:
    return np.equal(divisor, 0)


def _remainder(kernel: np.ufunc, name: str) -> Factory:
    """Return the function of a remainder, exact before it is rounded; SPIR-V leaves it undefined by zero."""
    return partial(kernel, _zero_divisor, "division", f"{name} divides by zero")


ARITHMETIC: dict[str, Factory] = {
    "OpFNegate": elementwise(np.negative),
    "OpFAdd": elementwise(np.add),
    "OpFSub": elementwise(np.subtract),
    "OpFMul": elementwise(np.multiply),
    "OpFDiv": elementwise(np.divide),
    "OpFRem": _remainder(np.fmod, "OpFRem"),
    "OpFMod": _remainder(np.mod, "mod()"),
    "OpVectorTimesScalar": elementwise(np.multiply),
    "OpMatrixTimesScalar": elementwise(np.multiply),
    "OpFmaKHR": elementwise(fma),
}

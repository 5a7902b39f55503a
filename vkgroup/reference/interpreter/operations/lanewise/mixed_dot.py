"""Dot products of narrow floats, added to a number (SPV_VALVE_mixed_float_dot_product).

Neither the extension nor Vulkan states how the sums are rounded. Here they are computed in float64, in which
products of narrow floats are exact, and rounded to the result's type.
"""

from __future__ import annotations

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.reference import bfloat16
from vkgroup.reference.interpreter.operations.lanewise.elementwise import Factory, Function
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import BFLOAT16, Data, Value, combine, overall_cause, single
from vkgroup.spirv import ScalarType, Type, VectorType

_SUPPORTED = (ScalarType("float", 16), ScalarType("float", 32), ScalarType(BFLOAT16, 16))


def _component(kind: Type | None, site: Site) -> ScalarType:
    """Return the number format of a scalar or vector."""
    scalar = kind.component if isinstance(kind, VectorType) else kind
    if not isinstance(scalar, ScalarType) or scalar not in _SUPPORTED:
        raise Unsupported(f"{site.name} on other numbers than float16, float32 and bfloat16.", [site.name])
    return scalar


def _numbers(data: Data, scalar: ScalarType) -> Data:
    """Return float64 of the held numbers."""
    return (bfloat16.widened(data) if scalar.kind == BFLOAT16 else data).astype(np.float64)


def _dot_and_add(site: Site) -> Function:
    """Return the function of Vector 1, Vector 2 and Accumulator, which has the result's type."""
    factors = _component(site.operand_types[0], site)
    sums = _component(site.type, site)

    def run(x: Value, y: Value, accumulator: Value) -> Value:
        products = _numbers(x.data, factors) * _numbers(y.data, factors)
        total = products.sum(axis=0) + _numbers(accumulator.data, sums)
        cause = combine(overall_cause(x), overall_cause(y), accumulator.cause)
        if sums.kind == BFLOAT16:
            return single(bfloat16.rounded(total), cause)
        return single(total.astype(sums.dtype), cause)

    return run


MIXED_DOTS: dict[str, Factory] = dict.fromkeys(
    ("OpFDot2MixAcc32VALVE", "OpFDot2MixAcc16VALVE", "OpFDot4MixAcc32VALVE"), _dot_and_add
)

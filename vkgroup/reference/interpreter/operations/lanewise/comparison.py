"""Relational and logical instructions: SPIR-V 3.52.15, OpAny to OpFUnordGreaterThanEqual, and OpSelect.

A logical and, or, any or all is defined where its defined operands determine the result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    dims_of,
    elementwise,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, filled, single, spread


def _not(kernel: np.ufunc) -> Callable[..., Data]:
    """Return the negation of a comparison: true also where an operand is NaN."""
    return lambda a, b: np.asarray(np.logical_not(kernel(a, b)))


def _ordered_not_equal(a: Data, b: Data) -> Data:
    return np.asarray((a < b) | (a > b))


def _unordered_equal(a: Data, b: Data) -> Data:
    return np.asarray(~_ordered_not_equal(a, b))


def _decided(cause: Causes, a: Value, b: Value, deciding: bool) -> Causes:
    """Return `cause`, but 0 where a defined operand has the value that decides the result."""
    for operand in (a, b):
        decides = operand.data == deciding
        if operand.cause is not None:
            decides = decides & (operand.cause == 0)
        cause = cause * ~decides
    return cause


def _logical(kernel: np.ufunc, deciding: bool) -> Factory:
    """Return the function of a logical and (False decides) or a logical or (True decides)."""

    def run(a: Value, b: Value) -> Value:
        cause = combine(a.causes[0], b.causes[0])
        if cause is not None:
            cause = _decided(cause, a, b, deciding)
        return Value((kernel(a.leaves[0], b.leaves[0]),), (cause,))

    return lambda site: run


def _over_components(kernel: np.ufunc, deciding: bool) -> Factory:
    """Return the function of OpAny (True decides) or OpAll (False decides)."""

    def factory(site: Site) -> Function:
        dims = dims_of(site.operand_types[0])

        def run(value: Value) -> Value:
            data, cause = value.data, value.cause
            if cause is not None:
                decides = (data == deciding) & (cause == 0)
                cause = np.asarray(spread(cause, dims).max(axis=0) * ~decides.any(axis=0))
            return single(kernel.reduce(data, axis=0), cause)

        return run

    return factory


def chosen(condition: Data, accept: Data, reject: Data) -> Data:
    """Return `accept` where the condition holds, else `reject`; for a uniform condition without a copy.

    Uses bit operations: NumPy's `where` branches for each number and is ten times slower in divergent lanes.
    """
    if condition.size == 1:
        return accept if condition.item() else reject
    if accept.dtype == np.bool_:
        return np.asarray((condition & accept) | (~condition & reject))
    bits = np.dtype(f"<i{accept.dtype.itemsize}")
    mask, other = condition.astype(bits), reject.view(bits)
    np.negative(mask, out=mask)
    result = (accept.view(bits) ^ other) & mask
    result ^= other
    return np.asarray(result).view(accept.dtype)


def _select(site: Site) -> Function:
    """OpSelect: a scalar condition chooses a whole object, a vector condition each component."""

    def run(condition: Value, accept: Value, reject: Value) -> Value:
        data = condition.leaves[0]
        leaves = tuple(
            chosen(data, first, second) for first, second in zip(accept.leaves, reject.leaves, strict=True)
        )
        return Value(
            leaves,
            tuple(
                condition.cause
                if first is None and second is None
                else combine(condition.cause, chosen(data, filled(first), filled(second)))
                for first, second in zip(accept.causes, reject.causes, strict=True)
            ),
        )

    return run


COMPARISONS: dict[str, Factory] = {
    "OpIsNan": elementwise(np.isnan),
    "OpIsInf": elementwise(np.isinf),
    "OpIEqual": elementwise(np.equal, "unsigned"),
    "OpINotEqual": elementwise(np.not_equal, "unsigned"),
    "OpUGreaterThan": elementwise(np.greater, "unsigned"),
    "OpSGreaterThan": elementwise(np.greater, "signed"),
    "OpUGreaterThanEqual": elementwise(np.greater_equal, "unsigned"),
    "OpSGreaterThanEqual": elementwise(np.greater_equal, "signed"),
    "OpULessThan": elementwise(np.less, "unsigned"),
    "OpSLessThan": elementwise(np.less, "signed"),
    "OpULessThanEqual": elementwise(np.less_equal, "unsigned"),
    "OpSLessThanEqual": elementwise(np.less_equal, "signed"),
    "OpFOrdEqual": elementwise(np.equal),
    "OpFUnordEqual": elementwise(_unordered_equal),
    "OpFOrdNotEqual": elementwise(_ordered_not_equal),
    "OpFUnordNotEqual": elementwise(np.not_equal),
    "OpFOrdLessThan": elementwise(np.less),
    "OpFUnordLessThan": elementwise(_not(np.greater_equal)),
    "OpFOrdGreaterThan": elementwise(np.greater),
    "OpFUnordGreaterThan": elementwise(_not(np.less_equal)),
    "OpFOrdLessThanEqual": elementwise(np.less_equal),
    "OpFUnordLessThanEqual": elementwise(_not(np.greater)),
    "OpFOrdGreaterThanEqual": elementwise(np.greater_equal),
    "OpFUnordGreaterThanEqual": elementwise(_not(np.less)),
    "OpLogicalEqual": elementwise(np.equal),
    "OpLogicalNotEqual": elementwise(np.not_equal),
    "OpLogicalNot": elementwise(np.logical_not),
    "OpLogicalAnd": _logical(np.logical_and, False),
    "OpLogicalOr": _logical(np.logical_or, True),
    "OpAny": _over_components(np.logical_or, True),
    "OpAll": _over_components(np.logical_and, False),
    "OpSelect": _select,
}

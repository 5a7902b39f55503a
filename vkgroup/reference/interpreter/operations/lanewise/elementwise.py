"""Elementwise instructions from NumPy functions, with signedness, causes and uniform values.

A *kernel* takes the operands' arrays and returns the result's array. The last axis counts invocations or has
length one. So NumPy's broadcasting keeps uniform values uniform and combines scalars with vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, leaves_of, single
from vkgroup.spirv import ScalarType, Type

DType = np.dtype[Any]
Function = Callable[..., Value]
Factory = Callable[[Site], Function]
Kernel = Callable[..., Data]
Mask = Callable[..., Data]


def scalar_of(kind: Type | None) -> ScalarType:
    """Return the scalar type of a type's components; for a structure, of its first member."""
    if kind is None:
        raise TypeError("an operand without a type has no scalar")
    return leaves_of(kind)[0].scalar


def dims_of(kind: Type | None) -> tuple[int, ...]:
    """Return the dimensions of a scalar, vector or matrix: (), (count,) or (columns, rows)."""
    if kind is None:
        raise TypeError("an operand without a type has no dimensions")
    return leaves_of(kind)[0].dims


def dtype_of(kind: Type | None, see: str | None = None) -> DType:
    """Return NumPy's type of the scalar, its integers read as ``"signed"`` or ``"unsigned"``."""
    dtype = scalar_of(kind).dtype
    if see is not None and dtype.kind in "iu":
        return np.dtype(f"<{'i' if see == 'signed' else 'u'}{dtype.itemsize}")
    return dtype


def mark(cause: Causes | None, undefined: Data, number: int) -> Causes | None:
    """Return `cause` with `number` added where `undefined` is true; `cause` itself where it never is."""
    if not undefined.any():
        return cause
    return combine(cause, undefined * np.uint16(number))


def casts(site: Site, see: str | None) -> tuple[DType | None, ...] | None:
    """Return the type to view each operand in, None for an unchanged operand; None if all are unchanged.

    `see`: ``"signed"`` or ``"unsigned"``: the instruction's view of integers; ``"result"``: all operands in
    the result's type; None: as they are.
    """
    wanted = [
        dtype_of(site.type) if see == "result" else dtype_of(operand, see) for operand in site.operand_types
    ]
    views = tuple(
        None if dtype_of(operand) == dtype else dtype
        for operand, dtype in zip(site.operand_types, wanted, strict=True)
    )
    return None if all(view is None for view in views) else views


def arrays(operands: tuple[Value, ...], views: tuple[DType | None, ...] | None) -> list[Data]:
    """Return the operands' arrays viewed in the given types, with the same bits."""
    if views is None:
        return [operand.leaves[0] for operand in operands]
    return [
        operand.leaves[0] if view is None else operand.leaves[0].view(view)
        for operand, view in zip(operands, views, strict=True)
    ]


def elementwise(kernel: Kernel, see: str | None = None) -> Factory:
    """Return the function of an instruction; each component is defined where its operands are.

    `kernel`: on the operands' arrays as seen; returns the result, an integer one in the same signedness.
    `see`: as in `casts`.
    """

    def factory(site: Site) -> Function:
        views, result = casts(site, see), dtype_of(site.type)

        def plain(*operands: Value) -> Value:
            data = kernel(*[operand.leaves[0] for operand in operands])
            return Value((data,), (combine(*[operand.causes[0] for operand in operands]),))

        def general(*operands: Value) -> Value:
            data = kernel(*arrays(operands, views)).view(result)
            return Value((data,), (combine(*[operand.causes[0] for operand in operands]),))

        same_kind = see is None or (see == "result") or dtype_of(site.type, see) == result
        return plain if views is None and same_kind else general

    return factory


def partial(
    kernel: Kernel,
    undefined: Mask,
    kind: str,
    detail: str,
    see: str | None = None,
    safe: Callable[[Site], bool] | None = None,
) -> Factory:
    """Return the function of an instruction that is undefined for some operands.

    `kernel`, `see`: as in `elementwise`.
    `undefined`: on the operands' arrays, returns where the result is undefined.
    `kind`, `detail`: of the cause.
    `safe`: whether constant operands rule that out.
    """
    whole = elementwise(kernel, see)

    def factory(site: Site) -> Function:
        if safe is not None and safe(site):
            return whole(site)
        views, result, number = casts(site, see), dtype_of(site.type), site.cause(kind, detail)

        def run(*operands: Value) -> Value:
            inputs = arrays(operands, views)
            data = kernel(*inputs)
            cause = combine(*[operand.causes[0] for operand in operands])
            return single(
                data if data.dtype == result else data.view(result), mark(cause, undefined(*inputs), number)
            )

        return run

    return factory


def constant_data(site: Site, index: int) -> Data | None:
    """Return the array of a constant operand without undefined components, else None."""
    constant = site.constants[index]
    return None if constant is None or constant.cause is not None else constant.data

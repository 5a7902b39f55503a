"""Allowed rounding differences of the outputs, estimated by runs with other legal roundings.

Vulkan does not fix all results of float instructions: the rounding direction of a sum, the contraction of a
product and a sum, errors of some units in the last place of other instructions, and the order of additions
in a subgroup are up to the implementation. The shader therefore runs again on the reference device with each
result moved to an end of the range that Vulkan allows: all to the upper end, all to the lower end, and at
random. An output may differ by its largest movement times `SAFETY`. An integer that moves at all depends on
rounding and may have any value.

The range of each instruction is rigorous. The result for the outputs is an estimate (Monte Carlo arithmetic)
and not a proof. Exact results of additions and multiplications are not moved, since every rounding keeps
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.compare import Tolerance, places_of
from vkgroup.check.inputs import numbers_of
from vkgroup.check.runs import Dispatch, Run
from vkgroup.formats import Format
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.lane_set import Subgroups
from vkgroup.reference.interpreter.values.value import Data, Value
from vkgroup.reference.precision import interval
from vkgroup.spirv import MatrixType, ScalarType, Type, VectorType, grammar

SAFETY = 4.0
"""Factor on the largest observed change, because a few runs do not meet the worst case."""

_RANDOM_RUNS = 4
_SUMS = {"OpGroupNonUniformFAdd": "Add", "OpGroupNonUniformFMul": "Mul"}

Ends = Callable[[tuple[int, ...]], npt.NDArray[np.bool_]]
"""A function of a shape that chooses the upper (True) or lower end of the range for each number."""


def tolerance_of(dispatch: Dispatch, base: Run, make: Callable[[Instrument], Program]) -> Tolerance:
    """Return the allowed rounding difference of each number of the outputs.

    Parameters
    ----------
    dispatch, base : the dispatch, and the run with which others are compared.
    make : function that returns the program with an instrument applied to its instructions.
    """
    tolerance: Tolerance = {}
    random = np.random.default_rng(dispatch.seed)
    choices: list[Ends] = [lambda shape: np.ones(shape, np.bool_), lambda shape: np.zeros(shape, np.bool_)]
    choices += [lambda shape: random.random(shape) < 0.5] * _RANDOM_RUNS
    for ends in choices:
        program = make(_instrument(ends))
        _widen(tolerance, dispatch, base, dispatch.run(base.configuration, races=False, program=program))
    return tolerance


def _widen(tolerance: Tolerance, dispatch: Dispatch, base: Run, moved: Run) -> None:
    """Widen the tolerance by the changes of one run."""
    for place, entry in places_of(dispatch.inputs, base):
        pairs = zip(
            numbers_of(entry, base.outputs[place]), numbers_of(entry, moved.outputs[place]), strict=True
        )
        for (field, one), (_, other) in pairs:
            change = _change(one, other, _is_rounded(entry.format)) + _step(entry.format, one)
            key = (place, field.name)
            tolerance[key] = np.maximum(tolerance[key], change) if key in tolerance else change


def _is_rounded(format_: Format | None) -> bool:
    """Whether an image stores floats as integers of the same order: fixed point, or packed small floats."""
    return format_ is not None and (
        format_.numeric in ("unorm", "snorm") or (format_.numeric == "float" and bool(format_.packed))
    )


def _step(format_: Format | None, texels: Data) -> npt.NDArray[np.float64] | float:
    """Return the rounding step of a texel's format, as in `stored_tolerance`."""
    if _is_rounded(format_):
        return 1.0
    if format_ is None or format_.numeric != "float" or format_.dtype.itemsize > 2:
        return 0.0
    return np.spacing(np.abs(texels)).astype(np.float64)


def _change(one: Data, other: Data, rounded: bool = False) -> npt.NDArray[np.float64]:
    """Return the allowed difference of numbers for one observed change."""
    if one.dtype.kind != "f" and not rounded:
        return np.where(one == other, 0.0, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.where(np.isnan(change), np.inf, change))


def _instrument(ends: Ends) -> Instrument:
    """Return the instrument that moves the results of all float instructions."""

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        scalar = _float_of(site.type)
        if scalar is None:
            return function
        if site.name in _SUMS:
            return _moved_sum(site, function, ends)
        return function if site.name.startswith("OpGroup") else _moved(site, scalar, function, ends)

    return instrument


def _float_of(kind: Type | None) -> ScalarType | None:
    """Return the float type of a scalar, vector or matrix; None for other types."""
    if isinstance(kind, MatrixType):
        kind = kind.column
    if isinstance(kind, VectorType):
        kind = kind.component
    return kind if isinstance(kind, ScalarType) and kind.kind == "float" else None


def _moved(
    site: Site, scalar: ScalarType, function: Callable[..., Value], ends: Ends
) -> Callable[..., Value]:
    """Return a lane-wise instruction's function with moved results."""

    def run(*values: Value) -> Value:
        result = function(*values)
        low, high = legal_range(site.name, scalar, [value.data for value in values], result.data)
        return _at_ends(result, low, high, ends)

    return run


def _moved_sum(site: Site, function: Callable[..., Value], ends: Ends) -> Callable[..., Value]:
    """Return the function of a subgroup sum or product in any legal order."""
    operation = grammar().enumerant("GroupOperation", site.literals[0])

    def run(subgroups: Subgroups, value: Value, *rest: Value) -> Value:
        result = function(subgroups, value, *rest)
        if operation not in ("Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce"):
            return result
        cluster = int(rest[0].data.flat[0]) if rest else None
        legal = interval(_SUMS[site.name], operation, subgroups.spread(value.data), subgroups.active, cluster)
        dims = result.data.shape[:-1]
        low, high = (
            subgroups.collect(np.where(legal.defined, end, unknown), dims)
            for end, unknown in ((legal.low, -np.inf), (legal.high, np.inf))
        )
        return _at_ends(result, low, high, ends)

    return run


def _at_ends(value: Value, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], ends: Ends) -> Value:
    """Return each number moved to an end of its range; NaN if any value is legal."""
    data = value.data
    if low.shape != data.shape or np.array_equal(low, high):
        return value
    dtype = data.dtype
    moved = np.where(ends(low.shape), high, low)
    with np.errstate(invalid="ignore", over="ignore"):
        narrowed = moved.astype(dtype)
    # Exact results are kept, including the sign of zero.
    result = np.where(low == high, data, np.where(np.isinf(moved), dtype.type(np.nan), narrowed))
    return Value((result.astype(dtype), *value.leaves[1:]), value.causes)

"""Allowed rounding differences: the shader runs again with results moved within the limits of Vulkan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.compare import Flags, Tolerance, pairs_of
from vkgroup.check.runs import Dispatch, Run
from vkgroup.formats import Format
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.lane_set import Subgroups
from vkgroup.reference.interpreter.values.value import Data, Value
from vkgroup.reference.precision import interval
from vkgroup.spirv import Module, ScalarType, grammar
from vkgroup.spirv.types import component_of

SAFETY = 4.0
"""Factor on the largest observed change, because a few runs do not meet the worst case."""

_RANDOM_RUNS = 4
_SUMS = {"OpGroupNonUniformFAdd": "Add", "OpGroupNonUniformFMul": "Mul"}

Ends = Callable[[tuple[int, ...]], npt.NDArray[np.bool_]]
"""A function of a shape that chooses the upper (True) or lower end of the range for each number."""


def tolerance_of(dispatch: Dispatch, base: Run, make: Callable[[Instrument], Program]) -> Tolerance:
    """Return the allowed rounding difference of each number of the outputs of `base`.

    `make` returns the program with an instrument applied to its instructions.
    """
    tolerance: Tolerance = {}
    preserves_nan = _preserves_nan(dispatch.program.module)
    random = np.random.default_rng(dispatch.seed)
    choices: list[Ends | float] = [np.nan, 0.0]
    choices += [lambda shape: np.ones(shape, np.bool_), lambda shape: np.zeros(shape, np.bool_)]
    choices += [lambda shape: random.random(shape) < 0.5] * _RANDOM_RUNS
    for ends in choices:
        moved = dispatch.run(base.configuration, races=False, program=make(_instrument(ends)))
        for place, entry, field, one, other in pairs_of(dispatch.inputs, base, moved):
            change = _change(one, other, _is_rounded(entry.format)) + _step(entry.format, one)
            if not preserves_nan:
                change = np.where(_is_special_texel(entry.format, one), np.inf, change)
            key = (place, field.name)
            tolerance[key] = np.maximum(tolerance[key], change) if key in tolerance else change
    return tolerance


def _preserves_nan(module: Module) -> bool:
    """Return whether a module requires that NaNs and infinities of 32 bits are kept.

    Without the execution mode an implementation may assume that they do not occur (SPIR-V,
    "SignedZeroInfNanPreserve"; Vulkan 1.4, "Precision and Operation of SPIR-V Instructions").
    """
    mode = (grammar().number("ExecutionMode", "SignedZeroInfNanPreserve"), 32)
    return any(
        entry.name == "OpExecutionMode" and entry.operands[1:] == mode for entry in module.instructions
    )


def _is_special_texel(format_: Format | None, texels: Data) -> Flags | bool:
    """Return which texels of small floats are NaN or infinite.

    Their conversion from 32 bits is an operation on floats. Texels of packed floats are integers, whose five
    highest bits are the exponent.
    """
    if format_ is None or format_.numeric != "float":
        return False
    if format_.packed:
        return np.asarray(texels >= 31 << (np.array(format_.packed) - 5))
    return np.asarray(~np.isfinite(texels)) if format_.dtype.itemsize < 4 else False


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
    with np.errstate(invalid="ignore"):
        return np.spacing(np.abs(texels)).astype(np.float64)


def _change(one: Data, other: Data, rounded: bool = False) -> npt.NDArray[np.float64]:
    """Return the allowed difference of numbers for one observed change."""
    if one.dtype.kind != "f" and not rounded:
        return np.where(one == other, 0.0, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.where(np.isnan(change), np.inf, change))


def _instrument(ends: Ends | float) -> Instrument:
    """Return the instrument that moves the results of all float instructions.

    If `ends` is a number, it takes the place of results for which any value is legal, such as that of a
    division by zero; the others stay. If all results move, a divisor may differ from zero.
    """

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        scalar = component_of(site.type)
        if scalar is None or scalar.kind != "float":
            return function
        if site.name in _SUMS:
            return _moved_sum(site, function, ends)
        return function if site.name.startswith("OpGroup") else _moved(site, scalar, function, ends)

    return instrument


def _moved(
    site: Site, scalar: ScalarType, function: Callable[..., Value], ends: Ends | float
) -> Callable[..., Value]:
    """Return a lane-wise instruction's function with moved results."""

    def run(*values: Value) -> Value:
        result = function(*values)
        low, high = legal_range(site.name, scalar, [value.data for value in values], result.data)
        return _at_ends(result, low, high, ends)

    return run


def _moved_sum(site: Site, function: Callable[..., Value], ends: Ends | float) -> Callable[..., Value]:
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


def _at_ends(
    value: Value, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], ends: Ends | float
) -> Value:
    """Return each number moved to an end of its range, or to NaN if any value is legal.

    If `ends` is a number, it takes the place of those for which any value is legal; the others stay.
    """
    data = value.data
    if low.shape != data.shape or np.array_equal(low, high):
        return value
    dtype = data.dtype
    if isinstance(ends, float):
        nothing_required = np.isinf(low) & np.isinf(high) & (low < high)
        replaced = np.where(nothing_required, dtype.type(ends), data).astype(dtype)
        return Value((replaced, *value.leaves[1:]), value.causes)
    moved = np.where(ends(low.shape), high, low)
    with np.errstate(invalid="ignore", over="ignore"):
        narrowed = moved.astype(dtype)
    # Exact results are kept, including the sign of zero.
    result = np.where(low == high, data, np.where(np.isinf(moved), dtype.type(np.nan), narrowed))
    return Value((result.astype(dtype), *value.leaves[1:]), value.causes)

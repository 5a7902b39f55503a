"""How much rounding may change each number of the outputs: found by running with other legal roundings.

Vulkan leaves much open about floats: which neighbour a sum is rounded to, whether a product and a sum are
contracted, errors of some units in the last place of everything else, the order in which a subgroup adds. So
the shader runs again on the reference device with every result moved to an end of the range that Vulkan
allows for it: all to the upper end, all to the lower, and at random. What an output moves by, times `SAFETY`,
is what it may differ by. An integer that moves at all is decided by rounding, and may be anything.

The range of each instruction is rigorous; what comes out at the end is Monte Carlo arithmetic, an estimate
and no proof. A result of an addition or multiplication that is exact is not moved: every rounding leaves it
as it is.
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
from vkgroup.reference.interpreter.values.subgroups import Subgroups
from vkgroup.reference.interpreter.values.value import Data, Value
from vkgroup.reference.precision import interval
from vkgroup.spirv import MatrixType, ScalarType, Type, VectorType, grammar

SAFETY = 4.0
"""By what the largest change seen is multiplied: few runs do not find the worst one."""

_RANDOM_RUNS = 4
_SUMS = {"OpGroupNonUniformFAdd": "Add", "OpGroupNonUniformFMul": "Mul"}

Ends = Callable[[tuple[int, ...]], npt.NDArray[np.bool_]]
"""Chooses for each number the upper end of its range, or the lower."""


def tolerance_of(dispatch: Dispatch, base: Run, make: Callable[[Instrument], Program]) -> Tolerance:
    """Return by how much each number of the outputs may differ for rounding.

    Parameters
    ----------
    dispatch, base : the run that others are compared with.
    make : makes the program anew, with an instrument.
    """
    found: Tolerance = {}
    random = np.random.default_rng(dispatch.seed)
    choices: list[Ends] = [lambda shape: np.ones(shape, np.bool_), lambda shape: np.zeros(shape, np.bool_)]
    choices += [lambda shape: random.random(shape) < 0.5] * _RANDOM_RUNS
    for ends in choices:
        program = make(_instrument(ends))
        _widen(found, dispatch, base, dispatch.run(base.configuration, races=False, program=program))
    return found


def _widen(found: Tolerance, dispatch: Dispatch, base: Run, moved: Run) -> None:
    """Take into account what moved in a run."""
    for place, entry in places_of(dispatch.inputs, base):
        pairs = zip(
            numbers_of(entry, base.outputs[place]), numbers_of(entry, moved.outputs[place]), strict=True
        )
        for (field, one), (_, other) in pairs:
            change = _change(one, other, _is_rounded(entry.format)) + _step(entry.format, one)
            key = (place, field.name)
            found[key] = np.maximum(found[key], change) if key in found else change


def _is_rounded(format_: Format | None) -> bool:
    """Whether an image holds floats as integers of the same order: fixed-point, or bits of small floats."""
    return format_ is not None and (
        format_.numeric in ("unorm", "snorm") or (format_.numeric == "float" and bool(format_.packed))
    )


def _step(format_: Format | None, texels: Data) -> npt.NDArray[np.float64] | float:
    """Return what writing a texel may round away: a step of its format, as in `stored_tolerance`."""
    if _is_rounded(format_):
        return 1.0
    if format_ is None or format_.numeric != "float" or format_.dtype.itemsize > 2:
        return 0.0
    return np.spacing(np.abs(texels)).astype(np.float64)


def _change(one: Data, other: Data, rounded: bool = False) -> npt.NDArray[np.float64]:
    """Return by how much numbers may differ, having moved so."""
    if one.dtype.kind != "f" and not rounded:
        return np.where(one == other, 0.0, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.where(np.isnan(change), np.inf, change))


def _instrument(ends: Ends) -> Instrument:
    """Make what moves the results of every instruction on floats."""

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        scalar = _float_of(site.type)
        if scalar is None:
            return function
        if site.name in _SUMS:
            return _moved_sum(site, function, ends)
        return function if site.name.startswith("OpGroup") else _moved(site, scalar, function, ends)

    return instrument


def _float_of(kind: Type | None) -> ScalarType | None:
    """Return the float type of a scalar, vector or matrix; None for anything else."""
    if isinstance(kind, MatrixType):
        kind = kind.column
    if isinstance(kind, VectorType):
        kind = kind.component
    return kind if isinstance(kind, ScalarType) and kind.kind == "float" else None


def _moved(
    site: Site, scalar: ScalarType, function: Callable[..., Value], ends: Ends
) -> Callable[..., Value]:
    """Return the function of a lane-wise instruction whose results are moved."""

    def run(*values: Value) -> Value:
        found = function(*values)
        low, high = legal_range(site.name, scalar, [value.data for value in values], found.data)
        return _at_ends(found, low, high, ends)

    return run


def _moved_sum(site: Site, function: Callable[..., Value], ends: Ends) -> Callable[..., Value]:
    """Return the function of a subgroup's sum or product in any order."""
    operation = grammar().enumerant("GroupOperation", site.literals[0])

    def run(subgroups: Subgroups, value: Value, *rest: Value) -> Value:
        found = function(subgroups, value, *rest)
        if operation not in ("Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce"):
            return found
        cluster = int(rest[0].data.flat[0]) if rest else None
        legal = interval(_SUMS[site.name], operation, subgroups.spread(value.data), subgroups.active, cluster)
        dims = found.data.shape[:-1]
        low, high = (
            subgroups.collect(np.where(legal.defined, end, unknown), dims)
            for end, unknown in ((legal.low, -np.inf), (legal.high, np.inf))
        )
        return _at_ends(found, low, high, ends)

    return run


def _at_ends(found: Value, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], ends: Ends) -> Value:
    """Move each number to an end of its range; where anything is legal, it becomes NaN."""
    data = found.data
    if low.shape != data.shape or np.array_equal(low, high):
        return found
    dtype = data.dtype
    moved = np.where(ends(low.shape), high, low)
    with np.errstate(invalid="ignore", over="ignore"):
        narrowed = moved.astype(dtype)
    # What is exact stays as it is, its sign of zero included.
    result = np.where(low == high, data, np.where(np.isinf(moved), dtype.type(np.nan), narrowed))
    return Value((result.astype(dtype), *found.leaves[1:]), found.causes)

"""Allowed rounding differences: the shader runs again with results moved within the limits of Vulkan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import TexelFormat
from vkgroup.check.comparison import Tolerance, pairs_of, widen
from vkgroup.check.runs import CheckedDispatch, CheckedRun, Flags
from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value
from vkgroup.reference.precision import interval
from vkgroup.spirv import Module, ScalarType, grammar
from vkgroup.spirv.types import component_of

SAFETY = 4.0
"""Factor on the largest observed change, because a few runs do not meet the worst case."""

_RANDOM_RUNS = 4
_SUMS = {"OpGroupNonUniformFAdd": "Add", "OpGroupNonUniformFMul": "Mul"}
_MOVING = (
    *("OpSelect", "OpBitcast", "OpComposite", "OpCopy", "OpTranspose"),
    *("OpVectorShuffle", "OpVectorExtractDynamic", "OpVectorInsertDynamic"),
)
"""Starts of the names of lane-wise instructions that move floats and do not compute them."""

Ends = Callable[[tuple[int, ...]], npt.NDArray[np.bool_]]
"""A function of a shape that chooses the upper (True) or lower end of the range for each number."""

Bound = npt.NDArray[np.float64]

Move = Callable[[Data, Bound, Bound], Data]
"""Returns an instruction's results, changed between their lower and upper bounds."""


def tolerance_of(dispatch: CheckedDispatch, base: CheckedRun) -> Tolerance:
    """Return the allowed rounding difference of each number of the outputs of `base`."""
    tolerance: Tolerance = {}
    preserving = _preserving(dispatch.program.module)
    random = np.random.default_rng(dispatch.seed)
    ends: list[Ends] = [lambda shape: np.ones(shape, np.bool_), lambda shape: np.zeros(shape, np.bool_)]
    ends += [lambda shape: random.random(shape) < 0.5] * _RANDOM_RUNS
    for move in (_replaced_by(np.nan), _replaced_by(0.0), *map(_at, ends)):
        moved = dispatch.run(
            base.configuration, races=False, program=dispatch.instrumented(_instrument(move))
        )
        for place, entry, field, one, other in pairs_of(dispatch.inputs, base, moved):
            change = _change(one, other, _is_rounded(entry.format)) + _step(entry.format, one)
            if 32 not in preserving:
                change = np.where(_is_special_texel(entry.format, one), np.inf, change)
            widen(tolerance, (place, field.name), change)
    # The signs of zeros have no range: a number is that of one of these runs, or of the base.
    for sign in (0.0, -0.0):
        zeros = dispatch.instrumented(_with_zeros(sign, preserving))
        signed = dispatch.run(base.configuration, races=False, program=zeros)
        for place, _, field, _, other in pairs_of(dispatch.inputs, base, signed):
            if (place, field.name) in tolerance:
                tolerance[place, field.name].alternatives += (other,)
    return tolerance


def _preserving(module: Module) -> frozenset[int]:
    """Return the widths of floats whose NaNs, infinities and signs of zeros a module requires to be kept.

    Without the execution mode an implementation may assume that NaNs and infinities do not occur, and ignore
    the sign of a zero (SPIR-V, "SignedZeroInfNanPreserve"; Vulkan 1.4, "Precision and Operation of SPIR-V
    Instructions"). Modules with FPFastMathDefault are treated like those that require it for every width.
    """
    number = grammar().number
    preserve = number("ExecutionMode", "SignedZeroInfNanPreserve")
    default = number("ExecutionMode", "FPFastMathDefault")
    modes = [entry for entry in module.instructions if entry.name in ("OpExecutionMode", "OpExecutionModeId")]
    if any(entry.operands[1] == default for entry in modes):
        return frozenset((16, 32, 64))
    return frozenset(entry.operands[2] for entry in modes if entry.operands[1] == preserve)


def _is_special_texel(format_: TexelFormat | None, texels: Data) -> Flags | bool:
    """Return which texels of small floats are NaN or infinite.

    Their conversion from 32 bits is an operation on floats. Texels of packed floats are integers, whose five
    highest bits are the exponent.
    """
    if format_ is None or format_.numeric != "float":
        return False
    if format_.packed:
        return np.asarray(texels >= 31 << (np.array(format_.packed) - 5))
    return np.asarray(~np.isfinite(texels)) if format_.dtype.itemsize < 4 else False


def _is_rounded(format_: TexelFormat | None) -> bool:
    """Whether an image stores floats as integers of the same order: fixed point, or packed small floats."""
    return format_ is not None and (
        format_.numeric in ("unorm", "snorm") or (format_.numeric == "float" and bool(format_.packed))
    )


def _step(format_: TexelFormat | None, texels: Data) -> npt.NDArray[np.float64] | float:
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


def _instrument(move: Move) -> Instrument:
    """Return the instrument that moves the results of all float instructions."""

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        scalar = component_of(site.type)
        if scalar is None or scalar.kind != "float":
            return function
        if site.name in _SUMS:
            return _moved_sum(site, function, move)
        return function if site.name.startswith("OpGroup") else _moved(site, scalar, function, move)

    return instrument


def _with_zeros(sign: float, preserving: frozenset[int]) -> Instrument:
    """Return the instrument that replaces computed zeros by one zero, 0.0 or -0.0.

    Zeros of the widths in `preserving` keep their sign.
    """

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        scalar = component_of(site.type)
        if scalar is None or scalar.kind != "float" or scalar.bits in preserving:
            return function
        if site.name.startswith(_MOVING) or (site.name.startswith("OpGroup") and site.name not in _SUMS):
            return function

        def run(*arguments: Any) -> Value:
            result: Value = function(*arguments)
            data = result.data
            return _with_data(result, np.where(data == 0, data.dtype.type(sign), data))

        return run

    return instrument


def _moved(
    site: Site, scalar: ScalarType, function: Callable[..., Value], move: Move
) -> Callable[..., Value]:
    """Return a lane-wise instruction's function with moved results."""

    def run(*values: Value) -> Value:
        result = function(*values)
        low, high = legal_range(site.name, scalar, [value.data for value in values], result.data)
        return _with_data(result, move(result.data, low, high))

    return run


def _moved_sum(site: Site, function: Callable[..., Value], move: Move) -> Callable[..., Value]:
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
        return _with_data(result, move(result.data, low, high))

    return run


def _with_data(value: Value, data: Data) -> Value:
    """Return a value with its numbers replaced."""
    return value if data is value.data else Value((data, *value.leaves[1:]), value.causes)


def _at(ends: Ends) -> Move:
    """Return the move of each number to an end of its range, or to NaN if any value is legal."""

    def move(data: Data, low: Bound, high: Bound) -> Data:
        if low.shape != data.shape or np.array_equal(low, high):
            return data
        moved = np.where(ends(low.shape), high, low)
        with np.errstate(invalid="ignore", over="ignore"):
            narrowed = moved.astype(data.dtype)
        # Exact results are kept, including the sign of zero.
        result = np.where(low == high, data, np.where(np.isinf(moved), data.dtype.type(np.nan), narrowed))
        return np.asarray(result, data.dtype)

    return move


def _replaced_by(number: float) -> Move:
    """Return the move of results for which any value is legal to a number. An example is a division by zero.

    The others stay: if all results move, a divisor may differ from zero.
    """

    def move(data: Data, low: Bound, high: Bound) -> Data:
        if low.shape != data.shape or np.array_equal(low, high):
            return data
        nothing_required = np.isinf(low) & np.isinf(high) & (low < high)
        return np.where(nothing_required, data.dtype.type(number), data)

    return move

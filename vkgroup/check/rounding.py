"""How much rounding may change each number of the outputs: found by running with other roundings.

Vulkan leaves much open about floats: additions and multiplications are correctly rounded, to which neighbour is not
said, and may be contracted; other operations may err by some units in the last place (Vulkan 1.4, "Precision and
Operation of SPIR-V Instructions"); a subgroup adds in any order. So the shader is run again on the reference device
with every such result moved by as much as is allowed: all up, all down, and at random. What an output moves by, times
`SAFETY`, is what it may differ by. An integer that moves at all is decided by rounding, and may be anything.

This is Monte Carlo arithmetic (Parker, 1997): an estimate, not a proof. A result that is exact is not moved, since
every rounding leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.compare import Tolerance, places_of
from vkgroup.check.findings import Configuration
from vkgroup.check.inputs import numbers_of
from vkgroup.check.runs import Dispatch, Run
from vkgroup.reference.interpreter.program import Program
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import Value
from vkgroup.spirv import MatrixType, ScalarType, VectorType

SAFETY = 4.0
"""By what the largest change seen is multiplied: few runs do not find the worst one."""

_RANDOM_RUNS = 4
_ROUNDED = {"OpFAdd": np.add, "OpFSub": np.subtract, "OpFMul": np.multiply}
_EXACT = frozenset(
    (
        "OpFNegate OpCopyObject OpCompositeConstruct OpCompositeExtract OpCompositeInsert OpVectorShuffle OpSelect"
        " OpPhi OpBitcast OpVectorExtractDynamic OpVectorInsertDynamic OpTranspose OpLoad OpCopyLogical OpQuantizeToF16"
    ).split()
) | {
    f"GLSL.std.450 {name}"
    for name in (
        "Round RoundEven Trunc FAbs FSign Floor Ceil Fract FMin FMax FClamp Step NMin NMax NClamp Ldexp"
        " FrexpStruct ModfStruct UnpackHalf2x16 UnpackDouble2x32"
    ).split()
}
_SUMS = frozenset(
    "OpDot OpVectorTimesMatrix OpMatrixTimesVector OpMatrixTimesMatrix".split()
) | {f"GLSL.std.450 {name}" for name in "Length Distance Cross Normalize Reflect Refract Determinant MatrixInverse".split()}
"""Sums of products: what they err by goes by their operands, for terms may cancel out."""

_ULPS = {
    "OpFDiv": 3.0,
    "OpFRem": 8.0,
    "OpFMod": 8.0,
    "Sqrt": 3.0,
    "InverseSqrt": 2.0,
    "Exp": 3.0,
    "Exp2": 3.0,
    "Log": 3.0,
    "Log2": 3.0,
    "Pow": 16.0,
    "Asin": 4096.0,
    "Acos": 4096.0,
    "Atan": 4096.0,
    "Atan2": 4096.0,
    "Tan": 4096.0,
    "Sinh": 64.0,
    "Cosh": 64.0,
    "Tanh": 64.0,
    "Asinh": 64.0,
    "Acosh": 64.0,
    "Atanh": 64.0,
    "SmoothStep": 8.0,
    "FMix": 4.0,
}
"""Units in the last place by instruction; what the table derives from other operations is put at their sum."""

_ABSOLUTE = {"Sin": 2.0**-11, "Cos": 2.0**-11, "Log": 2.0**-21, "Log2": 2.0**-21}
"""Absolute errors that the table allows beside; sine and cosine have no other."""

Direction = Callable[[tuple[int, ...]], npt.NDArray[np.float64]]


def tolerance_of(dispatch: Dispatch, base: Run, make: Callable[[Any], Program]) -> Tolerance:
    """Return by how much each number of the outputs may differ for rounding.

    Parameters
    ----------
    dispatch, base : the run that others are compared with.
    make : makes the program anew, given what is to be done with each instruction's function.
    """
    found: Tolerance = {}
    random = np.random.default_rng(dispatch.seed)
    directions: list[Direction] = [np.ones, lambda shape: -np.ones(shape)]
    directions += [lambda shape: random.choice((-1.0, 1.0), shape)] * _RANDOM_RUNS
    for direction in directions:
        program = make(lambda site, function, d=direction: _moved(site, function, d))
        configuration = Configuration(base.configuration.subgroup_size, base.configuration.shuffled)
        _widen(found, dispatch, base, dispatch.run(configuration, races=False, program=program))
    return found


def _widen(found: Tolerance, dispatch: Dispatch, base: Run, moved: Run) -> None:
    """Take what a run moved into account."""
    for place, entry in places_of(dispatch.inputs, base):
        pairs = zip(
            numbers_of(entry, base.outputs[place]), numbers_of(entry, moved.outputs[place]), strict=True
        )
        for (field, one), (_, other) in pairs:
            key = (place, field.name)
            if one.dtype.kind == "f":
                with np.errstate(invalid="ignore", over="ignore"):
                    change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
                change = np.where(np.isnan(change), np.inf, change)
                change[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
            else:
                change = np.where(one == other, 0.0, np.inf)
            found[key] = np.maximum(found[key], change) if key in found else change


def _scalar(kind: Any) -> ScalarType | None:
    """The float type of a scalar, vector or matrix; None for anything else."""
    if isinstance(kind, MatrixType):
        kind = kind.column
    if isinstance(kind, VectorType):
        kind = kind.component
    return kind if isinstance(kind, ScalarType) and kind.kind == "float" else None


def _moved(site: Site, function: Callable[..., Any], direction: Direction) -> Callable[..., Any]:
    """Return the function of an instruction with its results moved."""
    kind = _scalar(site.type)
    if kind is None or site.name in _EXACT:
        return function
    # Of doubles Vulkan asks for the precision of single, and no more.
    unit = float(np.finfo(np.float32 if kind.bits == 64 else kind.dtype).eps)
    if site.name in _ROUNDED:
        return _inexact(function, _ROUNDED[site.name], unit, direction)
    if site.name.startswith("OpGroup"):
        if "Add" not in site.name and "Mul" not in site.name:
            return function
        return lambda subgroups, value, *rest: function(
            subgroups, _shaken(value, unit * subgroups.size, 0.0, direction), *rest
        )
    if site.name in _SUMS:
        return lambda *values: function(*(_shaken(value, 4 * unit, 0.0, direction) for value in values))
    name = site.name.removeprefix("GLSL.std.450 ")
    relative = _ULPS.get(name, 1.0) * unit
    return _finished(function, name, relative, _ABSOLUTE.get(name, 0.0), direction)


def _finished(
    function: Callable[..., Any], name: str, relative: float, absolute: float, direction: Direction
) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        found = function(*values)
        if name in ("Exp", "Exp2"):
            # 3 + 2 |x| units
            largest = float(np.max(np.abs(values[-1].data), initial=0.0))
            return _shaken(found, relative * (1.0 + min(largest, 1024.0)), absolute, direction)
        return _shaken(found, relative, absolute, direction)

    return run


def _shaken(value: Any, relative: float, absolute: float, direction: Direction) -> Any:
    """Return a float value with all its numbers moved."""
    if not isinstance(value, Value) or value.data.dtype.kind != "f":
        return value
    data = value.data
    wide = data.astype(np.float64)
    moved = wide + direction(wide.shape) * (np.abs(wide) * relative + absolute)
    return Value((moved.astype(data.dtype), *value.leaves[1:]), value.causes)


def _inexact(
    function: Callable[..., Any], operation: np.ufunc, unit: float, direction: Direction
) -> Callable[..., Any]:
    """Move only those results of an addition or multiplication that were rounded."""

    def run(first: Value, second: Value) -> Value:
        found: Value = function(first, second)
        exact = operation(first.data.astype(np.float64), second.data.astype(np.float64))
        # Exact means that float64, which is wide enough for the sum or product of two narrower floats, agrees.
        wrong = exact != found.data.astype(np.float64)
        if found.data.dtype == np.float64:
            wrong = np.ones_like(wrong)
        if not wrong.any():
            return found
        moved = _shaken(found, unit, 0.0, direction)
        return Value((np.where(wrong, moved.data, found.data),), found.causes)

    return run

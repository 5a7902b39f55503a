"""Comparison of two runs: outputs where both are defined, and the first instruction executed differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field
from vkgroup.check.findings import Configuration
from vkgroup.check.flow import WHOLE, Flow, atomic_members
from vkgroup.check.inputs import Input, Inputs, numbers_of
from vkgroup.check.runs import Dispatch, Place, Run, outputs_of
from vkgroup.formats import Format
from vkgroup.reference.interpreter import Executed, Invocation, Memory
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.lane_set import Subgroups
from vkgroup.reference.interpreter.values.value import HARD, Data, Value
from vkgroup.reference.precision import interval
from vkgroup.spirv import Module, ScalarType, grammar
from vkgroup.spirv.types import component_of

Flags = npt.NDArray[np.bool_]

Tolerance = dict[tuple[Place, str], npt.NDArray[np.float64]]
"""Allowed difference of each number, by descriptor and field name; infinity allows any value."""


@dataclass(frozen=True)
class Difference:
    """The first number that differs between two runs."""

    place: Place  # set, binding and descriptor index of the output
    member: int  # index of the block member that contains the number
    label: str  # the number's name, for example ``"sums[3]"``
    offset: int  # the number's first byte in the output
    # `first`, `second`: the number's value in each run
    first: str
    second: str
    count: int  # count of differing numbers in all outputs


@dataclass
class Counts:
    """Counts of the outputs' numbers: compared, undefined, decided by atomics, equal within rounding."""

    compared: int = 0
    undefined: int = 0
    ordered: int = 0
    rounded: int = 0


def causes_in(runs: list[Run], place: Place, field: Field) -> npt.NDArray[np.uint16]:
    """Return the largest cause of each number of a field in any of the runs."""
    result = np.zeros(field.offsets.shape, np.uint16)
    for run in runs if field.offsets.size else ():
        if place in run.causes:
            causes = run.causes[place][field.offsets[..., None] + np.arange(field.dtype.itemsize)]
            result = np.maximum(result, causes.max(axis=-1))
    return result


def different(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Flags:
    """Return which numbers differ. Zeros of either sign are equal, and so are NaNs."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    return np.asarray((first != second) & ~(np.isnan(first) & np.isnan(second)))


def _beyond(
    first: npt.NDArray[Any], second: npt.NDArray[Any], allowed: npt.NDArray[np.float64] | None
) -> Flags:
    """Return which numbers differ by more than the allowed difference."""
    wrong = different(first, second)
    if allowed is None or not wrong.any():
        return wrong
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return wrong & ~((gap <= allowed) | np.isinf(allowed))


def places_of(inputs: Inputs, run: Run) -> list[tuple[Place, Input]]:
    """Return the outputs of a run with their inputs, in the order of the bindings."""
    return [
        ((*entry.place, number), entry)
        for entry in inputs.bindings
        for number in range(len(entry.arrays))
        if (*entry.place, number) in run.outputs
    ]


def pairs_of(
    inputs: Inputs, first: Run, second: Run
) -> Iterator[tuple[Place, Input, Field, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield the numbers of the outputs that two runs have, by descriptor and field."""
    for place, entry in places_of(inputs, first):
        if place in second.outputs:
            numbers = (numbers_of(entry, run.outputs[place]) for run in (first, second))
            for (field, first_values), (_, second_values) in zip(*numbers, strict=True):
                yield place, entry, field, first_values, second_values


def compare(inputs: Inputs, first: Run, second: Run, tolerance: Tolerance | None = None) -> Difference | None:
    """Return the first difference between two runs; None if their defined outputs are equal."""
    example: tuple[Place, Field, int, Any, Any] | None = None
    count = 0
    for place, _, field, first_values, second_values in pairs_of(inputs, first, second):
        wrong = _beyond(first_values, second_values, (tolerance or {}).get((place, field.name)))
        wrong &= causes_in([first, second], place, field) == 0
        differing = int(np.count_nonzero(wrong))
        count += differing
        if differing and example is None:
            flat_index = int(np.argmax(wrong.reshape(-1)))
            values = (values.reshape(-1)[flat_index] for values in (first_values, second_values))
            example = (place, field, flat_index, *values)
    if example is None:
        return None
    place, field, flat_index, first_value, second_value = example
    offset = int(field.offsets.reshape(-1)[flat_index])
    return Difference(
        place, field.member, field.label(flat_index), offset, str(first_value), str(second_value), count
    )


def count_numbers(inputs: Inputs, base: Run, others: list[Run], tolerance: Tolerance) -> Counts:
    """Count the outputs' numbers by the way in which all runs together were compared."""
    counts = Counts()
    for place, entry in places_of(inputs, base):
        rows = [numbers_of(entry, run.outputs[place]) for run in others if place in run.outputs]
        for number, (field, values) in enumerate(numbers_of(entry, base.outputs[place])):
            causes = causes_in([base, *others], place, field)
            hard = causes >= HARD
            counts.undefined += int(np.count_nonzero(hard))
            counts.ordered += int(np.count_nonzero((causes > 0) & ~hard))
            counts.compared += int(np.count_nonzero(causes == 0))
            allowed = tolerance.get((place, field.name))
            if allowed is not None:
                varied, wrong = np.zeros(values.shape, np.bool_), np.zeros(values.shape, np.bool_)
                for row in rows:
                    varied |= different(values, row[number][1])
                    wrong |= _beyond(values, row[number][1], allowed)
                counts.rounded += int(np.count_nonzero(varied & ~wrong & (causes == 0)))
    return counts


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
    kept = _widths_with_nan(dispatch.program.module)
    random = np.random.default_rng(dispatch.seed)
    choices: list[Ends | None] = [None]
    choices += [lambda shape: np.ones(shape, np.bool_), lambda shape: np.zeros(shape, np.bool_)]
    choices += [lambda shape: random.random(shape) < 0.5] * _RANDOM_RUNS
    for ends in choices:
        moved = dispatch.run(base.configuration, races=False, program=make(_instrument(ends)))
        for place, entry, field, one, other in pairs_of(dispatch.inputs, base, moved):
            change = _change(one, other, _is_rounded(entry.format)) + _step(entry.format, one)
            change = np.where(_may_not_occur(entry.format, one, kept), np.inf, change)
            key = (place, field.name)
            tolerance[key] = np.maximum(tolerance[key], change) if key in tolerance else change
    return tolerance


def _widths_with_nan(module: Module) -> frozenset[int]:
    """Return the widths of the floats whose NaNs and infinities a module requires to be kept.

    Without the execution mode an implementation may assume that they do not occur (SPIR-V,
    "SignedZeroInfNanPreserve"; Vulkan 1.4, "Precision and Operation of SPIR-V Instructions").
    """
    modes = [entry.operands[1:] for entry in module.instructions if entry.name == "OpExecutionMode"]
    names = grammar().enumerant
    return frozenset(
        mode[1] for mode in modes if names("ExecutionMode", mode[0]) == "SignedZeroInfNanPreserve"
    )


def _may_not_occur(format_: Format | None, numbers: Data, kept: frozenset[int]) -> Flags | bool:
    """Return which numbers are NaN or infinite, where the shader does not require that these are kept.

    Texels of packed floats are integers: the exponent has the highest five bits, which are all ones.
    """
    if format_ is not None and format_.numeric == "float":
        if 32 in kept:
            return False
        if format_.packed:
            bits = np.array(format_.packed)
            return np.asarray(numbers >= 31 << (bits - 5))
    elif numbers.dtype.kind != "f" or 8 * numbers.dtype.itemsize in kept:
        return False
    return np.asarray(~np.isfinite(numbers))


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


def _instrument(ends: Ends | None) -> Instrument:
    """Return the instrument that moves the results of all float instructions.

    `ends`: None moves only results for which any value is legal, such as a division by zero. In the other
    runs rounding may avoid them.
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
    site: Site, scalar: ScalarType, function: Callable[..., Value], ends: Ends | None
) -> Callable[..., Value]:
    """Return a lane-wise instruction's function with moved results."""

    def run(*values: Value) -> Value:
        result = function(*values)
        low, high = legal_range(site.name, scalar, [value.data for value in values], result.data)
        return _at_ends(result, low, high, ends)

    return run


def _moved_sum(site: Site, function: Callable[..., Value], ends: Ends | None) -> Callable[..., Value]:
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
    value: Value, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], ends: Ends | None
) -> Value:
    """Return each number moved to an end of its range; NaN if any value is legal.

    `ends`: None moves only the numbers for which any value is legal.
    """
    data = value.data
    if low.shape != data.shape or np.array_equal(low, high):
        return value
    dtype = data.dtype
    if ends is None:
        nothing_required = np.isinf(low) & np.isinf(high) & (low < high)
        unmoved = np.where(nothing_required, dtype.type(np.nan), data).astype(dtype)
        return Value((unmoved, *value.leaves[1:]), value.causes)
    moved = np.where(ends(low.shape), high, low)
    with np.errstate(invalid="ignore", over="ignore"):
        narrowed = moved.astype(dtype)
    # Exact results are kept, including the sign of zero.
    result = np.where(low == high, data, np.where(np.isinf(moved), dtype.type(np.nan), narrowed))
    return Value((result.astype(dtype), *value.leaves[1:]), value.causes)


InvocationKey = tuple[tuple[int, int, int], tuple[int, int, int]]
"""An invocation, by its workgroup id and its local id."""

_MAX_INVOCATIONS = 64
"""Maximum number of invocations that are examined if several may have written the number."""

_BRANCHES = ("OpBranchConditional", "OpSwitch")


class Divergence(NamedTuple):
    """The divergence of two runs."""

    position: int  # position of the first instruction that differs; -1 if none was identified
    stored: int  # position of the store of the differing number; -1 if no store wrote it
    invocation: Invocation | None  # an invocation in which the runs differ


class _Writers:
    """Record of the last invocation that wrote a byte of a memory, and of its store instruction."""

    def __init__(self, memory: Memory, byte: int) -> None:
        self.byte = byte
        self.number, self.position = -1, -1
        self._store = memory.store
        memory.store = self._watched  # type: ignore[method-assign]

    def _watched(
        self, frame: Accessor, site: Site, offset: npt.NDArray[np.int64], data: Any, *rest: Any, **more: Any
    ) -> None:
        self._store(frame, site, offset, data, *rest, **more)
        size = data.dtype.itemsize
        touched = (offset <= self.byte) & (self.byte < offset + size)
        lanes = np.flatnonzero(touched.reshape(-1, touched.shape[-1]).any(axis=0))
        if lanes.size:
            lane = int(lanes[-1]) if touched.shape[-1] == frame.count else 0
            self.number = int(frame.invocations[lane])
            self.position = site.position


def find_divergence(
    dispatch: Dispatch, flow: Flow, first: Configuration, second: Configuration, difference: Difference
) -> Divergence:
    """Return the first divergence in the invocation that wrote the differing number.

    Instructions that only compute with lane and subgroup numbers differ in any case and are ignored. The runs
    diverge at the first other instruction with another value, or at the branch where the paths separate.
    """
    writers: list[tuple[Invocation, int]] = []
    for configuration in (first, second):
        writer = dispatch.known_writer(configuration, difference.place, difference.offset)
        if writer is not None:
            writers.append(writer)
            continue
        resources = dispatch.inputs.resources()
        memory = outputs_of(dispatch.inputs, resources)[difference.place]
        last = _Writers(memory, difference.offset)
        dispatch.execute(configuration, resources)
        if last.number >= 0:
            writers.append((dispatch.invocation(configuration, last.number), last.position))
    if not writers:
        writers = _atomic_writers(dispatch, first, difference)
    by_nature = natural(flow)
    keys = {(who.workgroup, who.local) for who, _ in writers}
    one, other = (
        dispatch.execute(configuration, dispatch.inputs.resources(), watch=keys).trace
        for configuration in (first, second)
    )
    for who, stored in writers:
        key = (who.workgroup, who.local)
        position = first_difference(one.get(key, ()), other.get(key, ()), by_nature, flow)
        if position >= 0:
            return Divergence(position, stored, who)
    return Divergence(-1, writers[0][1], writers[0][0]) if writers else Divergence(-1, -1, None)


def _atomic_writers(
    dispatch: Dispatch, configuration: Configuration, difference: Difference
) -> list[tuple[Invocation, int]]:
    """Return candidate writers of an element updated by atomics, which has no single last writer."""
    variables = {
        identifier for identifier, place in dispatch.program.bindings.items() if place == difference.place[:2]
    }
    positions = [
        position
        for (variable, member), position in atomic_members(dispatch.program.module).items()
        if variable in variables and member in (difference.member, WHOLE)
    ]
    if not positions:
        return []
    every = dispatch.example_invocations(configuration, _MAX_INVOCATIONS)
    return [(who, positions[0]) for who in sorted(every, key=lambda who: who.local[::-1])]


def natural(flow: Flow) -> frozenset[int]:
    """Return the positions of instructions that only compute with lane and subgroup numbers."""
    origins = flow.origins
    return frozenset(
        entry.position
        for entry in flow.body
        if (entry.result_id in origins and not origins[entry.result_id].is_local)
        or (
            entry.name == "OpStore"
            and entry.operands[1] in origins
            and not origins[entry.operands[1]].is_local
        )
    )


def first_difference(
    one: Sequence[Executed], other: Sequence[Executed], natural: frozenset[int], flow: Flow
) -> int:
    """Return the position of the first instruction in which two traces differ; -1 if none differs."""
    last = -1
    for mine, yours in zip(one, other, strict=False):
        if mine.position != yours.position:
            return _branch_after(last, flow)
        last = mine.position
        if mine.position not in natural and not _same(mine.value, yours.value):
            return mine.position
    return -1 if len(one) == len(other) else _branch_after(last, flow)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; NaN equals NaN."""
    if one is None or other is None:
        return one is other
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _branch_after(position: int, flow: Flow) -> int:
    """Return the position of the branch that ends an instruction's block; its own if there is none."""
    for entry in flow.body:
        if entry.position > position and (entry.name in _BRANCHES or entry.name == "OpLabel"):
            return entry.position if entry.name in _BRANCHES else position
    return position

"""The verdict on one case: what the specification requires of each lane against what the device gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import barriers, evidence
from vkgroup.conformance.barriers import BARRIERS, ROUNDS, Barrier
from vkgroup.conformance.glsl_types import from_planes
from vkgroup.conformance.instances import Instances, hex_of
from vkgroup.conformance.program import Entry, Program, result_type
from vkgroup.reference import precision
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.results.record import Status
from vkgroup.spec.categories import Category
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.operations import BUILTIN_VARIABLES

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint32]

SHOWN_LANES = 4
"""Wrong lanes that a failure shows."""


@dataclass(frozen=True)
class Expected:
    """What the specification allows of each lane.

    Attributes
    ----------
    low, high : (rows, size, components) the least and greatest legal value; the same array where one value
        alone is legal.
    defined : the same shape; False where any value is legal.
    bits : whether values must agree in every bit, and not only as numbers.
    """

    low: Array
    high: Array
    defined: Flags
    bits: bool


@dataclass(frozen=True)
class JudgedLanes:
    """What a case was judged by, lane by lane: for who wants to show it.

    Attributes
    ----------
    got, expected : (rows, size, components), what the lanes recorded, and what they may.
    wrong : the same shape; which components are wrong.
    """

    entry: Entry
    program: Program
    instances: Instances
    outputs: Words
    got: Array
    expected: Expected
    wrong: Flags


@dataclass(frozen=True)
class Verdict:
    """Status, judged lanes and, for a failure, the words for it and the lanes of one subgroup.

    Attributes
    ----------
    evidence : of a failure, as JSON data; see `vkgroup.conformance.evidence`.
    lanes : all that was judged, lane by lane, where that was how.
    """

    status: Status
    defined: int
    undefined: int
    detail: str = ""
    evidence: dict[str, Any] | None = field(default=None, compare=False)
    lanes: JudgedLanes | None = field(default=None, compare=False, repr=False)


def judge(entry: Entry, program: Program, instances: Instances, outputs: Words) -> Verdict:
    """Judge one case of a batch from the batch's outputs."""
    if instances.faults:
        return Verdict(Status.FAIL, 0, 0, "; ".join(instances.faults), instances.shown)
    got, sound = _results(entry, program, instances, outputs)
    expected = expected_of(entry, instances, got)
    recorded = instances.recorded[..., None]
    lanes = np.all(expected.defined, axis=-1) & instances.recorded
    wrong = ~legal(got, expected) | ~sound
    wrong &= expected.defined & recorded
    defined = int(lanes.sum())
    undefined = int(instances.recorded.sum()) - defined
    by_lane = JudgedLanes(entry, program, instances, outputs, got, expected, wrong)
    if wrong.any():
        any_wrong = np.any(wrong, axis=-1)
        detail = _describe(entry, program, instances, got, expected, any_wrong)
        shown = _evidence(entry, program, instances, got, expected, any_wrong)
        return Verdict(Status.FAIL, defined, undefined, detail, shown, by_lane)
    judged = bool(np.any(expected.defined & recorded))
    if not judged and not instances.recorded.any():
        return Verdict(Status.FAIL, 0, 0, "no invocation executed the operation, where some had to")
    status = Status.PASS if judged else Status.UNDEFINED
    return Verdict(status, defined, undefined, lanes=by_lane)


def _results(entry: Entry, program: Program, instances: Instances, outputs: Words) -> tuple[Array, Flags]:
    """Return what each lane recorded, (rows, size, components), and whether it is a value of its type."""
    n, slots = program.invocations, program.pattern.slots
    planes = outputs[entry.at : entry.at + slots * entry.planes * n].reshape(slots, entry.planes, n)
    if entry.case.operation in BARRIERS:
        values = planes.transpose(0, 2, 1)[instances.slot[:, None], instances.member]
        return values, np.ones(values.shape, np.bool_)
    type_ = result_type(entry.case)
    flat = np.ascontiguousarray(planes.transpose(1, 0, 2)).reshape(entry.planes, slots * n)
    values, sound = from_planes(flat, type_)
    place = instances.slot[:, None] * n + instances.member
    return values[place], sound[place]


def expected_of(entry: Entry, instances: Instances, got: Array) -> Expected:
    """Return what the specification allows of each lane of a case.

    Parameters
    ----------
    got : (rows, size, components) what the lanes recorded. Only the cases of barriers look at it: whether a
        lane saw the other's flag decides what it must have read.
    """
    if entry.case.operation in BUILTIN_VARIABLES:
        return _expected_variable(entry, instances)
    if entry.case.operation in BARRIERS:
        return _expected_barrier(BARRIERS[entry.case.operation], instances, got)
    operation = SUBGROUP_OPERATIONS[entry.case.operation]
    case, active = entry.case, instances.active
    value = entry.feed.values[instances.place] if entry.feed is not None else None
    others = others_of(entry, instances)
    if case.data == "rounding":
        assert value is not None
        assert operation.operator is not None
        assert operation.group_operation is not None
        legal = precision.interval(operation.operator, operation.group_operation, value, active, *others)
        return Expected(legal.low, legal.high, legal.defined, bits=False)
    arguments = [active, *others] if value is None else [value, active, *others]
    lanes: Lanes = reference_of(operation.name)(*arguments)
    as_number = operation.operator is not None and case.glsl_type.scalar.kind == "float"
    return Expected(lanes.value, lanes.value, lanes.defined, bits=not as_number)


def others_of(entry: Entry, instances: Instances) -> list[Any]:
    """Return the operands beyond the value as the reference functions take them."""
    if entry.argument is None:
        return []
    cluster = [entry.argument.operand.cluster] if entry.argument.operand.cluster else []
    if entry.case.category == Category.CLUSTERED.value:
        return cluster
    return [entry.argument.of_lanes(instances.place, instances.active), *cluster]


def _expected_variable(entry: Entry, instances: Instances) -> Expected:
    """Return a built-in variable's values from the layout that was found (and checked) before."""
    rows, size = instances.active.shape
    name = entry.case.operation
    if name in ("gl_NumSubgroups", "gl_SubgroupID"):
        found = [instances.subgroups[workgroup] for workgroup in instances.group]
        if name == "gl_NumSubgroups":
            of_row = np.array([len(ids) for ids in found])
        else:
            # In the range 0 to gl_NumSubgroups - 1: the least that occurs is 0, the next 1, and so on.
            pairs = zip(found, instances.subgroup, strict=True)
            of_row = np.array([np.searchsorted(ids, one) for ids, one in pairs])
        value = np.broadcast_to(of_row.reshape(-1, 1, 1).astype(np.uint32), (rows, size, 1))
        defined = np.broadcast_to(instances.active[..., None], value.shape)
        return Expected(value, value, defined, bits=True)
    lanes: Lanes = reference_of(name)(instances.active)
    return Expected(lanes.value, lanes.value, lanes.defined, bits=True)


def _next_active(active: Flags) -> NDArray[np.int64]:
    """Return for each lane the next active one above it, else the lowest active one: (rows, size)."""
    size = active.shape[1]
    lane = np.where(active, np.arange(size), size)
    above = np.minimum.accumulate(lane[:, ::-1], axis=1)[:, ::-1]
    above = np.concatenate([above[:, 1:], np.full((len(active), 1), size)], axis=1)
    return np.asarray(np.where(above < size, above, lane.min(axis=1, keepdims=True)) % size)


def _expected_barrier(barrier: Barrier, instances: Instances, got: Array) -> Expected:
    """Return whether a lane must have seen the flag, and the cell that it then must read, in each round.

    Nothing says that a message's flag is up; what else a lane recorded there it did not come to record.
    """
    following = _next_active(instances.active)
    cell = instances.subgroup[:, None] * instances.size + following
    group = np.broadcast_to(instances.group[:, None], cell.shape).astype(np.uint32)
    # What a helper invocation writes has no effect, so that nobody need find it.
    written = np.take_along_axis(instances.recorded, following, axis=1)
    value = np.zeros(got.shape, np.uint32)
    defined = np.zeros(got.shape, np.bool_)
    for number in range(ROUNDS):
        round_ = (instances.slot * ROUNDS + number)[:, None].astype(np.uint32)
        value[..., 2 * number + 1] = barriers.value_of(cell.astype(np.uint32), round_, group)
        flag = got[..., 2 * number]
        value[..., 2 * number] = 1 if barrier.kind == "exchange" else np.minimum(flag, 1)
        defined[..., 2 * number] = instances.recorded & ((flag != 0) | (barrier.kind == "exchange"))
        defined[..., 2 * number + 1] = (flag == 1) & written & instances.recorded
    return Expected(value, value, defined, bits=True)


def legal(got: Array, expected: Expected) -> Flags:
    """Whether each component has a legal value."""
    low, high = expected.low, expected.high
    if expected.bits or got.dtype.kind != "f":
        if got.dtype.kind == "f":
            unsigned = f"u{got.dtype.itemsize}"
            return np.asarray(got.view(unsigned) == np.ascontiguousarray(low).view(unsigned))
        return np.asarray(got == low)
    # As numbers: the sign of zero is left open by sums and minima, and one NaN is as good as another.
    if low is high:
        return np.asarray((got == low) | (np.isnan(got) & np.isnan(low)))
    return np.asarray((got >= low) & (got <= high))


def _describe(
    entry: Entry, program: Program, instances: Instances, got: Array, expected: Expected, wrong: Flags
) -> str:
    """Say which lanes are wrong: the first of them with input, mask, expected and got."""
    lines = [f"{int(wrong.sum())} of {int(instances.recorded.sum())} active lanes are wrong"]
    for row, lane in np.argwhere(wrong)[:SHOWN_LANES]:
        where = program.stage.whereabouts(int(instances.group[row]), int(instances.number[row]))
        text = f"{where} lane {lane} slot {instances.slot[row]} active {hex_of(instances.mask[row])}:"
        if entry.feed is not None:
            text += f" input {_show(entry.feed.values[instances.place[row, lane]])}"
        if entry.argument is not None:
            operand = entry.argument.of_lanes(instances.place, instances.active)[row, lane]
            text += f" operand {hex_of(operand) if operand.shape else operand}"
        low, high = expected.low[row, lane], expected.high[row, lane]
        between = "" if expected.low is expected.high else f" … {_show(high)}"
        lines.append(f"{text} expected {_show(low)}{between} got {_show(got[row, lane])}")
    return "\n".join(lines)


def _evidence(
    entry: Entry, program: Program, instances: Instances, got: Array, expected: Expected, wrong: Flags
) -> dict[str, Any]:
    """Return the lanes of the first subgroup that is wrong."""
    row = int(np.argwhere(wrong)[0][0])
    recorded, defined = instances.recorded[row], np.all(expected.defined[row], axis=-1)
    low, high = expected.low[row], expected.high[row]
    ranged = expected.low is not expected.high
    rows: dict[str, list[str | None]] = {}
    if entry.feed is not None:
        rows["input"] = [_show(value) for value in entry.feed.values[instances.place[row]]]
    if entry.argument is not None:
        operands = entry.argument.of_lanes(instances.place, instances.active)[row]
        rows["operand"] = [hex_of(one) if one.shape else str(one) for one in operands]
    rows["expected"] = [
        (_show(low[lane]) + (f" … {_show(high[lane])}" if ranged else "")) if defined[lane] else None
        for lane in range(instances.size)
    ]
    rows["got"] = [_show(value) for value in got[row]]
    return evidence.of_subgroup(
        program.stage.whereabouts(int(instances.group[row]), int(instances.number[row])),
        int(instances.slot[row]),
        instances.active[row],
        recorded,
        wrong[row],
        rows,
    )


def _show(value: Array) -> str:
    items = [repr(component.item()) for component in value]
    return items[0] if len(items) == 1 else f"({', '.join(items)})"

"""Expectation: the legal values of each lane, by the reference functions, and the verdict on a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.conformance import barriers, evidence
from vkgroup.conformance.arrays import Array, Flags, Words
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.comparison import Description, Expected, Verdict, legal, verdict_of
from vkgroup.conformance.evidence import text_of
from vkgroup.conformance.instances import Instances, hex_of
from vkgroup.conformance.subgroup.shader import BatchEntry, BatchProgram, result_type
from vkgroup.programs.glsl_types import from_planes
from vkgroup.record.record import Status
from vkgroup.reference.precision import interval
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, Operation


@dataclass(frozen=True)
class JudgedLanes:
    """The recorded and the expected values of every lane of one case."""

    entry: BatchEntry
    program: BatchProgram
    instances: Instances
    outputs: Words
    #: `got`, `expected`: (rows, size, components), the recorded values, and the values that the
    #: specification allows.
    got: Array
    expected: Expected
    wrong: Flags  # the same shape; which components are wrong

    def where(self, row: int) -> str:
        """Return a description of an instance's subgroup."""
        instances = self.instances
        return self.program.stage.subgroup_name(int(instances.group[row]), int(instances.number[row]))

    def rows(self, row: int, lanes: list[int]) -> dict[str, list[str | None]]:
        """Return texts of some lanes of an instance by name: input, operand, expected (None for any), got."""
        entry, instances, rows = self.entry, self.instances, dict[str, list[str | None]]()
        if entry.feed is not None:
            rows["input"] = [text_of(value) for value in entry.feed.values[instances.place[row, lanes]]]
        if entry.argument is not None:
            operands = entry.argument.of_lanes(instances.place, instances.active)[row, lanes]
            rows["operand"] = [hex_of(value) if value.shape else str(value) for value in operands]
        defined = np.any(self.expected.defined[row], axis=-1)
        rows["expected"] = [self.expected.text((row, lane)) if defined[lane] else None for lane in lanes]
        return rows | {"got": [text_of(value) for value in self.got[row, lanes]]}

    def line(self, index: tuple[int, ...]) -> str:
        """Describe one lane: position, active mask, inputs, expected result and recorded result."""
        (row, lane), instances = index, self.instances
        texts = {name: text for name, (text,) in self.rows(row, [lane]).items()}
        words = [f"slot {instances.slot[row]} active {hex_of(instances.mask[row])}:"]
        words += (f"{name} {text}" for name, text in texts.items())
        return f"{self.where(row)} lane {lane} {' '.join(words)}"

    def evidence(self, wrong: Flags) -> dict[str, Any]:
        """Return the evidence of the first instance with a wrong lane; `wrong` has (rows, size)."""
        row, instances = int(np.argwhere(wrong)[0][0]), self.instances
        recorded = np.flatnonzero(instances.recorded[row])
        return evidence.of_lanes(
            self.where(row),
            recorded,
            wrong[row, recorded],
            self.rows(row, recorded.tolist()),
            size=instances.size,
            active=instances.active[row],
            slot=int(instances.slot[row]),
        )


def verdict_on(entry: BatchEntry, program: BatchProgram, instances: Instances, outputs: Words) -> Verdict:
    """Return the verdict on one case of a batch from the batch's outputs."""
    if instances.faults:
        masks = instances.mask_fault or instances.layout_fault or instances.path_fault
        return Verdict(Status.FAIL, 0, 0, "; ".join(instances.faults), instances.shown, masks=masks)
    got, sound = results_of(entry, program, instances, outputs)
    expected = expected_of(entry, instances, got)
    judged = expected.defined & instances.recorded[..., None]
    total = int(instances.recorded.sum())
    if not total:
        return Verdict(Status.FAIL, 0, 0, "no invocation executed the operation, where some had to")
    wrong = (~legal(got, expected) | ~sound) & judged
    lanes = JudgedLanes(entry, program, instances, outputs, got, expected, wrong)
    defined = int(np.any(judged, axis=-1).sum())
    return verdict_of(
        np.any(wrong, axis=-1),
        Description("active lanes", lanes.line, lanes.evidence),
        defined=defined,
        undefined=total - defined,
        total=total,
        passed=bool(judged.any()),
        lanes=lanes,
    )


def results_of(
    entry: BatchEntry, program: BatchProgram, instances: Instances, outputs: Words
) -> tuple[Array, Flags]:
    """Return each lane's record, (rows, size, components), and whether it is a valid value of its type."""
    n, slots = program.invocations, program.pattern.slots
    planes = outputs[entry.at : entry.at + slots * entry.planes * n].reshape(slots, entry.planes, n)
    flat = np.ascontiguousarray(planes.transpose(1, 0, 2)).reshape(entry.planes, slots * n)
    place = instances.slot[:, None] * n + instances.member
    if entry.case.operation in BARRIERS:
        return flat.T[place], np.ones((*place.shape, entry.planes), np.bool_)
    values, sound = from_planes(flat, result_type(entry.case))
    return values[place], sound[place]


def expected_of(entry: BatchEntry, instances: Instances, got: Array) -> Expected:
    """Return the legal values of each lane of a case.

    Only barrier cases use `got`, the records (rows, size, components): the value that a lane must have read
    depends on whether it saw the other lane's flag.
    """
    if entry.case.operation in BUILTIN_VARIABLES:
        return _expected_variable(entry, instances)
    if entry.case.operation in BARRIERS:
        cells, seen = barriers.expected(BARRIERS[entry.case.operation], got, instances)
        return Expected(cells, cells, seen)
    case, operation, active = entry.case, SUBGROUP_OPERATIONS[entry.case.operation], instances.active
    value = entry.feed.values[instances.place] if entry.feed is not None else None
    others = others_of(entry, instances)
    expected = legal_results(operation, value, active, others, rounds=case.data == "rounding")
    if case.data != "special" or value is None or value.dtype.kind != "f":
        return expected
    absent = _assumed_absent(operation, expected.low, value, active, others)
    return replace(expected, defined=expected.defined & ~absent, bits=False)


def legal_results(
    operation: Operation, value: Array | None, active: Flags, others: list[Any], rounds: bool
) -> Expected:
    """Return what the reference requires of an operation; a range for sums and products that round."""
    if rounds and value is not None:
        names = str(operation.operator), str(operation.group_operation)
        return Expected(*interval(*names, value, active, *others), bits=False)
    arguments = [active, *others] if value is None else [value, active, *others]
    lanes: Lanes = reference_of(operation.name)(*arguments)
    bits = value is None or value.dtype.kind != "f" or operation.operator is None
    return Expected(lanes.value, lanes.value, lanes.defined, bits)


def _assumed_absent(
    operation: Operation, result: Array, value: Array, active: Flags, others: list[Any]
) -> Flags:
    """Return which results depend on a NaN or an infinity that Vulkan lets the driver assume absent.

    Vulkan 1.4, "Precision and Operation of SPIR-V Instructions": of group operations, the execution mode
    SignedZeroInfNanPreserve affects minima and maxima, OpGroupNonUniformAllEqual and moves alone. Modules
    declare it for arithmetic only, so NaN and infinities are undefined in sums, products and moves, and the
    sign of zero does not count.
    """
    if operation.operator in ("Min", "Max") or (operation.operator is None and result.dtype.kind != "f"):
        return np.zeros(result.shape, np.bool_)
    if operation.operator is None:
        return np.asarray(~np.isfinite(result))
    any_of = reference_of(operation.name.replace(operation.operator, "Or"))
    lanes: Lanes = any_of(~np.isfinite(value), active, *others)
    return np.asarray(lanes.value)


def others_of(entry: BatchEntry, instances: Instances) -> list[Any]:
    """Return the operands after the value, in the form that the reference functions take."""
    if entry.argument is None:
        return []
    cluster = [entry.argument.operand.cluster] if entry.argument.operand.cluster else []
    if entry.case.category == Category.CLUSTERED.value:
        return cluster
    return [entry.argument.of_lanes(instances.place, instances.active), *cluster]


def _expected_variable(entry: BatchEntry, instances: Instances) -> Expected:
    """Return a built-in variable's values from the recorded and checked layout."""
    name = entry.case.operation
    if name not in ("gl_NumSubgroups", "gl_SubgroupID"):
        lanes: Lanes = reference_of(name)(instances.active)
        return Expected(lanes.value, lanes.value, lanes.defined)
    ids = [instances.subgroups[group] for group in instances.group]
    # In the range 0 to gl_NumSubgroups - 1: the smallest recorded number is 0, the next 1, and so on.
    numbers = map(len, ids) if name == "gl_NumSubgroups" else map(np.searchsorted, ids, instances.subgroup)
    defined = instances.active[..., None]
    value = np.broadcast_to(np.array(list(numbers), np.uint32).reshape(-1, 1, 1), defined.shape)
    return Expected(value, value, defined)

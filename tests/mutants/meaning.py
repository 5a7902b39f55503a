"""Results of a mutant by the specification: explains why a missed mutant could not be caught."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mutants.mutant import Mutant
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.instances import Instances
from vkgroup.conformance.subgroup.expectation import expected_of, others_of
from vkgroup.conformance.subgroup.shader import BatchEntry
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, Operation

LOCKSTEP = "lanes in lockstep keep the order of their accesses without a barrier"
ALONE = "no subgroup has two active lanes, and alone this is the same"
SAME = "by the specification the same on this data"
UNDEFINED = "differs only where the specification leaves the planted operation's result undefined"
ROUNDING = "inside the bounds of rounding"


def equivalence(mutant: Mutant, entry: BatchEntry, instances: Instances) -> str:
    """Return why a mutant cannot be distinguished from the original module on these data; "" if it can.

    Parameters
    ----------
    entry, instances : of the mutant's run.
    """
    if mutant.operator == "dropped":
        return LOCKSTEP
    if entry.case.operation in BARRIERS:
        return ""
    nothing = np.zeros((*instances.active.shape, 1), np.uint32)
    expected = expected_of(entry, instances, nothing)
    meant = _planted(mutant, entry, instances) or _spoiled(mutant, entry, instances, expected)
    if meant is None:
        return ""
    judged = expected.defined & instances.recorded[..., None]
    legal = _legal(meant.value, expected)
    if not np.all(legal | ~judged | ~meant.defined):
        return ""
    if not np.all(legal | ~judged):
        return UNDEFINED
    if expected.low is not expected.high:
        return ROUNDING
    return ALONE if instances.active.sum(axis=1).max() == 1 else SAME


def _legal(value: NDArray[np.generic], expected: Expected) -> NDArray[np.bool_]:
    """Return whether values are among the expected ones; NaN equals NaN."""
    low, high = expected.low, expected.high
    equal = value == low
    if value.dtype.kind == "f":
        equal |= np.isnan(value) & np.isnan(low)
    return np.asarray(equal if low is high else equal | ((value >= low) & (value <= high)))


def _spoiled(mutant: Mutant, entry: BatchEntry, instances: Instances, expected: Expected) -> Lanes | None:
    """Return the result of an operator that changes the right result; None for other operators."""
    right, defined = expected.low, expected.defined
    rows, count = np.arange(len(right)), right.shape[-1]
    if mutant.operator == "uniform":
        first = instances.active.argmax(axis=1)
        return Lanes(
            np.broadcast_to(right[rows, first][:, None], right.shape),
            np.broadcast_to(defined[rows, first][:, None], right.shape),
        )
    if mutant.operator == "component":
        order = [*range(1, count), 0] if mutant.choice == "turned" else [*range(count - 1), 0]
        return Lanes(right[..., order], defined[..., order])
    if mutant.operator == "constant":
        value = {"zero": 0, "true": True, "ones": 0xFFFFFFFF}[mutant.choice]
        return Lanes(np.full_like(right, value), np.ones_like(defined))
    if mutant.operator == "own" and entry.feed is not None:
        return Lanes(entry.feed.values[instances.place], np.ones_like(defined))
    if mutant.operator == "mask":
        odd = (np.arange(instances.size) % 2 == 1)[:, None]
        among = _reference(
            SUBGROUP_OPERATIONS[entry.case.operation], entry, instances, instances.active & odd.T
        )
        return Lanes(np.where(odd, among.value, right), np.where(odd, among.defined, defined))
    return None


def _reference(
    operation: Operation, entry: BatchEntry, instances: Instances, active: NDArray[np.bool_]
) -> Lanes:
    """Return the results of an operation for a set of active lanes."""
    others = others_of(entry, instances)
    value = [] if entry.feed is None else [entry.feed.values[instances.place]]
    lanes: Lanes = reference_of(operation.name)(*value, active, *others)
    return lanes


def _planted(mutant: Mutant, entry: BatchEntry, instances: Instances) -> Lanes | None:
    """Return the reference results of the planted instruction; None if the reference does not have it."""
    mine = SUBGROUP_OPERATIONS.get(mutant.case.operation)
    other = None if mine is None else _other(mutant, mine)
    if other is None or entry.feed is None:
        return None
    value = entry.feed.values[instances.place]
    arguments = others_of(entry, instances)
    if mutant.operator == "group":
        cluster = mutant.choice.partition(":")[2]
        partitioned = mutant.choice.startswith("Partitioned")
        arguments = [int(cluster)] if cluster else arguments if partitioned else []
    elif mutant.operator == "cluster":
        arguments = [*arguments[:-1], int(mutant.choice)]
    lanes: Lanes = reference_of(other.name)(value, instances.active, *arguments)
    return lanes


def _other(mutant: Mutant, mine: Operation) -> Operation | None:
    """Return the operation that a mutant plants; None if no GLSL function compiles to it."""
    if mutant.operator == "cluster":
        return mine
    if mutant.operator not in ("opcode", "group", "direction"):
        return None
    kind = mutant.case.glsl_type.scalar.kind
    opcode = mutant.choice if mutant.operator == "opcode" else mine.opcodes[kind]
    group = mutant.choice.partition(":")[0] if mutant.operator == "group" else mine.group_operation
    direction = int(mutant.choice) if mutant.operator == "direction" else mine.direction
    wanted = (opcode, group, direction)
    for row in SUBGROUP_OPERATIONS.values():
        same_shape = mutant.operator == "group" or len(row.operands) == len(mine.operands)
        if same_shape and (row.opcodes.get(kind), row.group_operation, row.direction) == wanted:
            return row
    return None

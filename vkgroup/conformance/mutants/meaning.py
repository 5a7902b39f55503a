"""What a wrong instruction computes by the specification: whether a missed mutant could have been caught."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.instances import Instances
from vkgroup.conformance.mutants.mutant import Mutant
from vkgroup.conformance.program import Entry
from vkgroup.conformance.verdict import Expected, expected_of, others_of
from vkgroup.reference.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.reference.operations import Operation
from vkgroup.reference.semantics import Lanes

LOCKSTEP = "lanes in lockstep keep the order of their accesses without a barrier"
SAME = "by the specification the same on this data"
UNDEFINED = "differs only where the specification leaves the planted operation's result undefined"
ROUNDING = "inside the bounds of rounding"


def equivalence(mutant: Mutant, entry: Entry, instances: Instances) -> str:
    """Return why no verdict on these data can tell a mutant from the honest module; "" where it could.

    Parameters
    ----------
    entry, instances : of the mutant's run.
    """
    if mutant.operator == "dropped":
        return LOCKSTEP
    meant = _meaning(mutant, entry, instances)
    if meant is None:
        return ""
    nothing = np.zeros((*instances.active.shape, 1), np.uint32)
    expected = expected_of(entry, instances, nothing)
    judged = expected.defined & instances.recorded[..., None]
    legal = _legal(meant.value, expected)
    if not np.all(legal | ~judged | ~meant.defined):
        return ""
    if not np.all(legal | ~judged):
        return UNDEFINED
    return SAME if expected.low is expected.high else ROUNDING


def _legal(value: NDArray[np.generic], expected: Expected) -> NDArray[np.bool_]:
    """Whether values are among those that are expected, NaN for NaN."""
    low, high = expected.low, expected.high
    equal = value == low
    if value.dtype.kind == "f":
        equal |= np.isnan(value) & np.isnan(low)
    return np.asarray(equal if low is high else equal | ((value >= low) & (value <= high)))


def _meaning(mutant: Mutant, entry: Entry, instances: Instances) -> Lanes | None:
    """Return what the planted instruction gives, by the reference; None where it has no function for it."""
    case = mutant.case
    mine = SUBGROUP_OPERATIONS.get(case.operation)
    if mine is None or entry.feed is None:
        return None
    other = _other(mutant, mine)
    if other is None:
        return None
    value = entry.feed.values[instances.place]
    arguments = others_of(entry, instances)
    if mutant.operator == "group":
        cluster = mutant.choice.partition(":")[2]
        partitioned = mutant.choice.startswith("Partitioned")
        arguments = [int(cluster)] if cluster else arguments if partitioned else []
    elif mutant.operator == "cluster":
        arguments = [*arguments[:-1], int(mutant.choice)]
    return other.reference(value, instances.active, *arguments)


def _other(mutant: Mutant, mine: Operation) -> Operation | None:
    """Return the operation that a mutant plants; None where no function of GLSL is that instruction."""
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

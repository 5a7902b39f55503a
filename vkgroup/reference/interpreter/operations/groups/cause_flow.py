"""Causes in group operations: the cause of a result comes from the values that the operation used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.reference.interpreter.values.value import Causes
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.lanes import Flags
from vkgroup.spec.categories import ExtendedCategory
from vkgroup.spec.extended_operations import EXTENDED_OPERATIONS
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import OPERATIONS, OperandKind, Operation

Flow = Callable[..., Causes]
"""From the causes of a value (subgroups, size, components) to those of the result, (subgroups, size, 1 or
components); further arguments are `active` and the operation's other operands."""

# The cause of a reduction or scan is the largest of its values: the same kind of operation with Max.
_LARGEST = {
    row.group_operation: row
    for row in (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values())
    if row.operator == "Max"
}


def _of(row: Operation) -> Flow:
    """Return the flow that applies an operation to causes instead of values."""

    def flow(causes: Causes, active: Flags, *others: Any) -> Causes:
        lanes = reference_of(row.name)(causes, active, *others)
        return np.where(lanes.defined, lanes.value, np.uint16(0))

    return flow


def of_all(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in any component of any active lane, (subgroups, size, 1)."""
    return reference_of("subgroupMax")(causes.max(axis=2, keepdims=True), active).value


def _of_quad(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in the active lanes of each lane's quad."""
    return reference_of("subgroupClusteredMax")(causes, active, min(QUAD_SIZE, active.shape[1])).value


def of_lane(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in any component of the lane itself."""
    return np.asarray(causes.max(axis=2, keepdims=True))


def flow_of(row: Operation) -> Flow:
    """Return the flow from the causes of an operation's first operand to its result."""
    if row.operator is not None:
        return _of(_LARGEST[row.group_operation])
    if row.result == "value":
        return _of(row)
    if row.category is ExtendedCategory.QUAD_CONTROL:
        return _of_quad
    if row.operands[0].kind is OperandKind.BALLOT:
        return of_lane
    return of_all

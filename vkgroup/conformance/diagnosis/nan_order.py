"""Minimum and maximum computed step by step, where the order and the comparison decide what NaN does.

A device that computes ``x < y ? x : y`` instead of a minimum that drops NaN returns whichever operand the
failed comparison selects. Then the result depends on the order of the steps, so each order is a variant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Array
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.diagnosis.observation import ActiveGroups, CaseObservation, required
from vkgroup.reference.semantics.groups import OPERATORS, identity
from vkgroup.spec.operations import Operation

Select = Callable[[Any, Any], Any]
"""(own or accumulated value, other value) → the one that is kept."""


def selections(operator: str) -> dict[str, tuple[Select, bool]]:
    """Return the comparisons by their sentence: the selection, and whether the steps form a tree."""
    better: Select = np.less if operator == "Min" else np.greater

    def own(own_value: Any, other: Any) -> Any:
        return np.where(better(own_value, other), own_value, other)

    def other(own_value: Any, other_value: Any) -> Any:
        return np.where(better(other_value, own_value), other_value, own_value)

    return {
        "in steps of a tree, the own value stays if it compares as better, else the other lane's": (
            own,
            True,
        ),
        "in steps of a tree, the other lane's value is taken if it compares as better": (other, True),
        "lane after lane, the result stays if it compares as better, else the next value is taken": (
            own,
            False,
        ),
        "lane after lane, the next value is taken if it compares as better": (other, False),
    }


def combined(seen: CaseObservation, select: Select, *, tree: bool) -> Expected | None:
    """Return each lane's result if every step is `select`; None if the operation is no minimum or maximum."""
    operation, value = seen.operation, seen.value
    if operation is None or value is None or operation.operator not in ("Min", "Max"):
        return None
    result = in_steps(operation, value, seen.groups, select, tree=tree)
    return required(result, seen.active[..., None])


def in_steps(
    operation: Operation, value: Array, groups: Sequence[ActiveGroups], select: Select, *, tree: bool
) -> Array:
    """Return each active lane's result, (rows, size, components), if every step is `select`.

    In a tree, step s combines lanes 2^s apart. A reduction over a whole subgroup or cluster combines each
    lane with lane XOR 2^s. Scans, and reductions in which some lanes are inactive, combine the i-th active
    lane with the one 2^s before it, and a reduction takes the last result. An exclusive scan begins with the
    identity in front.
    """
    assert operation.operator is not None
    group = operation.group_operation or ""
    first = identity(OPERATORS[operation.operator], value.dtype)
    result = np.zeros_like(value)
    for whole, rows, lanes in groups:
        chosen = value[rows, lanes].swapaxes(0, 1)
        if "Exclusive" in group:
            chosen = np.concatenate([np.full_like(chosen[:1], first), chosen[:-1]])
        with np.errstate(all="ignore"):
            if "Scan" in group:
                steps = _scan(chosen, select, tree)
            elif tree and whole and "Partitioned" not in group:
                steps = _butterfly(chosen, select)
            else:
                steps = np.broadcast_to(_scan(chosen, select, tree)[-1], chosen.shape)
        result[rows, lanes] = steps.swapaxes(0, 1)
    return result


def _scan(values: Array, select: Select, tree: bool) -> Array:
    """Return the inclusive scan of (lanes, groups, components)."""
    result = values.copy()
    if tree:
        step = 1
        while step < len(values):
            moved = result.copy()
            moved[step:] = select(result[step:], result[:-step])
            result, step = moved, 2 * step
        return result
    for lane in range(1, len(values)):
        result[lane] = select(result[lane - 1], values[lane])
    return result


def _butterfly(values: Array, select: Select) -> Array:
    """Return the reduction of (lanes, groups, components) of a power of two of lanes, in each lane."""
    lane, step = np.arange(len(values)), 1
    while step < len(values):
        values, step = select(values, values[lane ^ step]), 2 * step
    return values

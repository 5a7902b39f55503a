"""Explanations of undefined results of group operations: the broken rule, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import divides
from vkgroup.reference.semantics.lanes import Flags, Values, first_active, same_in_all
from vkgroup.reference.semantics.partitions import subset_of
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OperandKind, Operation


class OperationUse(NamedTuple):
    """One use of an operation: the arguments of its reference function."""

    row: Operation
    value: Values
    active: Flags
    others: tuple[Any, ...]


class OperandRule(NamedTuple):
    """A requirement of an operation on its operands, or a limit of its definition."""

    kind: str  # as in `vkgroup.reference.events.EventCause`; "order" where several results are legal
    sentence: str  # the event, with {name}, {size} and {cluster}
    #: Returns where the rule is broken, as an array that broadcasts to (subgroups, size, components).
    broken: Callable[[OperationUse], Flags]


def _everywhere(use: OperationUse) -> Flags:
    return np.ones((1, 1, 1), dtype=np.bool_)


def _disagrees(use: OperationUse) -> Flags:
    index = [operand.uniform for operand in use.row.operands].index(True)
    operand = (use.value, *use.others)[index]
    return ~same_in_all(operand, use.active)[:, None, None]


def _no_cluster(use: OperationUse) -> Flags:
    return np.full((1, 1, 1), not divides(use.others[-1], use.active.shape[1]))


def _no_such_lane(use: OperationUse) -> Flags:
    """Return where the result is undefined even if all lanes are active and have the first lane's operand."""
    rows, first = np.arange(len(use.active)), first_active(use.active)
    others = tuple(
        np.where(use.active, other, other[rows, first][:, None]) if isinstance(other, np.ndarray) else other
        for other in use.others
    )
    nothing = np.zeros((*use.active.shape, 1), dtype=np.bool_)
    return ~reference_of(use.row.name)(nothing, np.ones_like(use.active), *others).defined


def _no_partition(use: OperationUse) -> Flags:
    return ~subset_of(use.others[0], use.active)[1][:, None, None]


def _zeros_differ(use: OperationUse) -> Flags:
    """Return where the result would be defined if all zeros had the same sign."""
    value = np.where(use.value == 0, use.value.dtype.type(0), use.value)
    return reference_of(use.row.name)(value, use.active, *use.others).defined


_DISAGREES = {
    kind: OperandRule("not_uniform", f"{{name}} takes {words} that differs between active lanes", _disagrees)
    for kind, words in (
        (OperandKind.ID, "an id"),
        (OperandKind.DELTA, "a delta"),
        (OperandKind.BALLOT, "a ballot"),
    )
}
_CLUSTER = OperandRule("cluster", "{name} has clusters of {cluster} in a subgroup of {size}", _no_cluster)
_BEYOND = OperandRule(
    "lane_out_of_range", "{name} reads a lane that a subgroup of {size} does not have", _no_such_lane
)
_QUAD = OperandRule(
    "quad", "{name} reads a lane that a quad of a subgroup of {size} does not have", _no_such_lane
)
_INACTIVE = OperandRule("inactive_lane", "{name} reads an inactive lane", _everywhere)
_PARTITION = OperandRule(
    "partition", "{name} takes ballots that are no partition of the active lanes", _no_partition
)
_SIGN = OperandRule("order", "{name} may choose either of +0.0 and -0.0", _zeros_differ)
_NAN = OperandRule("nan", "{name} has only NaN to choose from", _everywhere)

_OTHERS = {
    "subgroupAllEqual": OperandRule("nan", "{name} compares a NaN in the only active lane", _everywhere),
    "subgroupPartitionNV": OperandRule("nan", "{name} compares NaN with NaN", _everywhere),
    "subgroupBallotFindLSB": OperandRule(
        "empty_ballot", "{name} finds no bit set in the ballot", _everywhere
    ),
    "subgroupBallotFindMSB": OperandRule(
        "empty_ballot", "{name} finds no bit set in the ballot", _everywhere
    ),
    "subgroupBallotBitExtract": OperandRule(
        "lane_out_of_range", "{name} takes a bit that a subgroup of {size} does not have", _everywhere
    ),
}


def rules_of(row: Operation) -> tuple[OperandRule, ...]:
    """Return the rules of an operation; if several are broken, the first one explains the result."""
    rules = []
    if row.uniform_operand is not None:
        rules.append(_DISAGREES[row.uniform_operand])
    if row.operands and row.operands[-1].kind is OperandKind.CLUSTER_SIZE:
        rules.append(_CLUSTER)
    if (row.group_operation or "").startswith("Partitioned"):
        rules.append(_PARTITION)
    if row.operator in ("Min", "Max"):
        rules += [_SIGN, _NAN]
    elif row.result == "value" and row.operator is None:
        rules += [_QUAD if row.category is Category.QUAD else _BEYOND, _INACTIVE]
    if row.name in _OTHERS:
        rules.append(_OTHERS[row.name])
    return tuple(rules)


def explain(site: Site, name: str, use: OperationUse, missing: Flags) -> Causes:
    """Return the number of the cause of each `missing` result, (subgroups, size, components); 0 elsewhere.

    `missing` marks active lanes that the operation leaves undefined. Sentences call the operation `name`.
    """
    causes = np.zeros(missing.shape, dtype=np.uint16)
    cluster = use.others[-1] if use.others else None
    for rule in rules_of(use.row):
        broken = missing & rule.broken(use)
        if broken.any():
            sentence = rule.sentence.format(name=name, size=use.active.shape[1], cluster=cluster)
            number = site.order_cause(sentence) if rule.kind == "order" else site.cause(rule.kind, sentence)
            causes[broken] = number
            missing = missing & ~broken
    return causes

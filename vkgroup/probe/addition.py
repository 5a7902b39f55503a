"""Order of additions in ``subgroupAdd`` and its scans, determined from the rounding of results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe import orders
from vkgroup.probe.outcome import Observation, listed

Floats = NDArray[np.float32]

RANDOM_ROWS = 64
"""Number of rows with random terms, which must also match."""

SHOWN_TREE = 60
"""Maximum number of characters of a tree in a sentence."""


@dataclass(frozen=True)
class AdditionOrder:
    """The order of additions of one operation."""

    operation: str  # the GLSL function
    order: str | None  # the known order that reproduces every result bit for bit; None if none does
    #: Other known orders with the same results; at this subgroup size they are equivalent.
    same_as: tuple[str, ...] = ()
    lanes_agree: bool = True  # whether all lanes have the same sum (reductions; True for scans)
    #: If no known order matches, the reconstructed tree of the last lane's sum; None if it is not a tree.
    tree: str | None = None
    tree_confirmed: bool = False  # whether evaluating that tree also gives the sum of every random row

    @property
    def in_words(self) -> str:
        """Description of the order for people."""
        if self.order is not None:
            return self.order + (f", at this size the same as {listed(self.same_as)}" if self.same_as else "")
        words = "" if self.lanes_agree else "lanes have different sums; "
        if self.tree is None:
            return words + "unknown order, not a tree of float32 additions"
        shown = self.tree if len(self.tree) <= SHOWN_TREE else self.tree[:SHOWN_TREE] + "…"
        return (
            words
            + f"another order: {shown}"
            + ("" if self.tree_confirmed else ", which does not match random terms")
        )


@dataclass(frozen=True)
class AdditionOrders(Observation):
    """The orders of the reduction and the two scans, in subgroups of one size."""

    subgroup_size: int
    operations: tuple[AdditionOrder, ...]

    def lines(self) -> list[str]:
        """Return one line for each order, with the operations that use it."""
        if self.subgroup_size == 1:
            return ["no result: a subgroup of one lane has no additions"]
        groups: dict[str, list[str]] = {}
        for operation in self.operations:
            groups.setdefault(operation.in_words, []).append(operation.operation)
        return [f"{listed(names)}: {words}" for words, names in groups.items()]


def terms(size: int, seed: int = 1) -> Floats:
    """Return the inputs (rows, size): those of `orders.pair_rows`, then random rows of mixed magnitude."""
    draw = np.random.default_rng(seed)
    shape = (RANDOM_ROWS, size)
    random = np.ldexp(draw.uniform(-1.0, 1.0, shape), draw.integers(-8, 9, shape))
    return np.concatenate([orders.pair_rows(size), random.astype(np.float32)])


def addition_orders(reduced: Floats, inclusive: Floats, exclusive: Floats) -> AdditionOrders:
    """Return the orders of additions, from results (rows, size) float32 for the rows of `terms`."""
    size = reduced.shape[1]
    rows = terms(size)
    inclusive_order = _scan(
        "subgroupInclusiveAdd", rows, inclusive, (orders.SCANS.items(), orders.blocked_scans(size)), size
    )
    exclusive_order = _scan("subgroupExclusiveAdd", rows, exclusive, _exclusive_candidates(size), size - 1)
    if inclusive_order.order in exclusive_order.same_as:
        exclusive_order = _renamed(exclusive_order, inclusive_order.order)
    elif exclusive_order.order in inclusive_order.same_as:
        inclusive_order = _renamed(inclusive_order, exclusive_order.order)
    return AdditionOrders(size, (_reduction(rows, reduced), inclusive_order, exclusive_order))


def _renamed(order: AdditionOrder, name: str | None) -> AdditionOrder:
    """Return the order with `name`, one of its equivalent names, as main name."""
    names = (order.order, *order.same_as)
    return replace(order, order=name, same_as=tuple(each for each in names if each and each != name))


Candidates = Iterable[tuple[str, orders.Order]]


def _reduction(rows: Floats, sums: Floats) -> AdditionOrder:
    name, size = "subgroupAdd", rows.shape[1]
    agree = bool((sums == sums[:, :1]).all())
    if agree:
        for family in (orders.SUMS.items(), orders.blocked_sums(size)):
            fitting = _fitting(rows, sums[:, 0], family)
            if fitting:
                return AdditionOrder(name, fitting[0], fitting[1:])
    return _read_off(name, rows, sums[:, -1], size, agree)


def _scan(
    name: str, rows: Floats, sums: Floats, families: Iterable[Candidates], summed: int
) -> AdditionOrder:
    """Return the order of a scan whose last lane adds the first `summed` lanes."""
    for family in families:
        fitting = _fitting(rows, sums, family)
        if fitting:
            return AdditionOrder(name, fitting[0], fitting[1:])
    return _read_off(name, rows, sums[:, -1], summed, True)


def _exclusive_candidates(size: int) -> Iterable[Candidates]:
    for family in (orders.SCANS.items(), orders.blocked_scans(size)):
        scans = list(family)
        yield [(name, orders.exclusive(scan)) for name, scan in scans]
        yield [
            (f"{name}, of terms moved up a lane", orders.exclusive_of_shifted(scan)) for name, scan in scans
        ]


def _fitting(rows: Floats, sums: Floats, candidates: Candidates) -> tuple[str, ...]:
    """Return the names of the candidates that reproduce every result; random rows are tried first."""
    few = slice(-RANDOM_ROWS, None)
    return tuple(
        name
        for name, order in candidates
        if np.array_equal(order(rows[few]), sums[few]) and np.array_equal(order(rows), sums)
    )


def _read_off(name: str, rows: Floats, sums: Floats, summed: int, agree: bool) -> AdditionOrder:
    """Return the order of one lane's sums as a tree over the first `summed` lanes."""
    within = np.all(orders.pairs(rows.shape[1]) < summed, axis=1)
    tree = orders.recover(sums[: within.size][within], summed) if summed else None
    if tree is None:
        return AdditionOrder(name, None, lanes_agree=agree)
    few = slice(-RANDOM_ROWS, None)
    confirmed = np.array_equal(orders.evaluate(tree, rows[few]), sums[few])
    return AdditionOrder(name, None, lanes_agree=agree, tree=orders.tree_text(tree), tree_confirmed=confirmed)

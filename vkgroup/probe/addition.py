"""The order of additions in ``subgroupAdd`` and its scans, found from how results are rounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe import orders, trees
from vkgroup.probe.outcome import Json, listed

Floats = NDArray[np.float32]

RANDOM_ROWS = 64
"""Rows of random terms that must agree too."""

SHOWN_TREE = 60
"""Characters of a tree that a sentence shows."""


@dataclass(frozen=True)
class AdditionOrder:
    """The order in which one operation adds.

    Attributes
    ----------
    operation : the GLSL function.
    order : the known order that gives every result bit for bit; None where none does.
    same_as : the other known orders that do so as well: at this subgroup size they are the same order.
    lanes_agree : whether all lanes got the same sum (reductions; True for scans).
    tree : where no known order fits, the sum of the last lane as it was read off; None if it is no tree.
    tree_confirmed : whether evaluating that tree gives every random row's sum too.
    """

    operation: str
    order: str | None
    same_as: tuple[str, ...] = ()
    lanes_agree: bool = True
    tree: str | None = None
    tree_confirmed: bool = False

    @property
    def in_words(self) -> str:
        """The order in words."""
        if self.order is not None:
            return self.order + (f", at this size the same as {listed(self.same_as)}" if self.same_as else "")
        words = "" if self.lanes_agree else "lanes got different sums; "
        if self.tree is None:
            return words + "another order, and no tree of float32 additions"
        shown = self.tree if len(self.tree) <= SHOWN_TREE else self.tree[:SHOWN_TREE] + "…"
        return words + f"another order: {shown}" + ("" if self.tree_confirmed else ", not on random terms")

    def to_json(self) -> dict[str, Json]:
        """Give what was found."""
        return {
            "operation": self.operation,
            "order": self.order,
            "same_as": list(self.same_as),
            "lanes_agree": self.lanes_agree,
            "tree": self.tree,
            "tree_confirmed": self.tree_confirmed,
        }


@dataclass(frozen=True)
class AdditionOrders:
    """The orders of the reduction and the two scans, in subgroups of one size."""

    size: int
    operations: tuple[AdditionOrder, ...]

    def lines(self) -> list[str]:
        """Say in which order each operation adds, alike operations together."""
        if self.size == 1:
            return ["nothing to see: a subgroup of one lane adds nothing"]
        groups: dict[str, list[str]] = {}
        for found in self.operations:
            groups.setdefault(found.in_words, []).append(found.operation)
        return [f"{listed(names)}: {words}" for words, names in groups.items()]

    def to_json(self) -> dict[str, Json]:
        """Give the size and each operation's order."""
        return {"subgroup_size": self.size, "operations": [found.to_json() for found in self.operations]}


def terms(size: int, seed: int = 1) -> Floats:
    """Make the inputs: the crafted rows of `trees.pair_rows`, then random rows of mixed sign and magnitude.

    Returns
    -------
    (rows, size) float32
    """
    draw = np.random.default_rng(seed)
    shape = (RANDOM_ROWS, size)
    random = np.ldexp(draw.uniform(-1.0, 1.0, shape), draw.integers(-8, 9, shape))
    return np.concatenate([trees.pair_rows(size), random.astype(np.float32)])


def addition_orders(reduced: Floats, inclusive: Floats, exclusive: Floats) -> AdditionOrders:
    """Find the orders from the results (rows, size) float32 on the rows of `terms`."""
    size = reduced.shape[1]
    rows = terms(size)
    one = _scan("subgroupInclusiveAdd", rows, inclusive, _inclusive_candidates(size), size)
    other = _scan("subgroupExclusiveAdd", rows, exclusive, _exclusive_candidates(size), size - 1)
    if one.order in other.same_as:
        other = _renamed(other, one.order)
    elif other.order in one.same_as:
        one = _renamed(one, other.order)
    return AdditionOrders(size, (_reduction(rows, reduced), one, other))


def _renamed(found: AdditionOrder, name: str | None) -> AdditionOrder:
    """Call the order by another of its names."""
    names = (found.order, *found.same_as)
    return replace(found, order=name, same_as=tuple(each for each in names if each and each != name))


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
    """Find the order of a scan, whose last lane sums the first `summed` lanes."""
    for family in families:
        fitting = _fitting(rows, sums, family)
        if fitting:
            return AdditionOrder(name, fitting[0], fitting[1:])
    return _read_off(name, rows, sums[:, -1], summed, True)


def _inclusive_candidates(size: int) -> Iterable[Candidates]:
    return (orders.SCANS.items(), orders.blocked_scans(size))


def _exclusive_candidates(size: int) -> Iterable[Candidates]:
    for family in (orders.SCANS.items(), orders.blocked_scans(size)):
        scans = list(family)
        yield [(name, orders.exclusive(scan)) for name, scan in scans]
        yield [
            (f"{name}, of terms moved up a lane", orders.exclusive_of_shifted(scan)) for name, scan in scans
        ]


def _fitting(rows: Floats, sums: Floats, candidates: Candidates) -> tuple[str, ...]:
    """Name the candidates that give every result bit for bit; random rows sort most of them out at once."""
    few = slice(-RANDOM_ROWS, None)
    return tuple(
        name
        for name, order in candidates
        if np.array_equal(order(rows[few]), sums[few]) and np.array_equal(order(rows), sums)
    )


def _read_off(name: str, rows: Floats, sums: Floats, summed: int, agree: bool) -> AdditionOrder:
    """Read the order of one lane's sums off as a tree over the first `summed` lanes."""
    within = np.all(trees.pairs(rows.shape[1]) < summed, axis=1)
    tree = trees.recover(sums[: within.size][within], summed) if summed else None
    if tree is None:
        return AdditionOrder(name, None, lanes_agree=agree)
    few = slice(-RANDOM_ROWS, None)
    confirmed = np.array_equal(trees.evaluate(tree, rows[few]), sums[few])
    return AdditionOrder(name, None, lanes_agree=agree, tree=trees.text(tree), tree_confirmed=confirmed)

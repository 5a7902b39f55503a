"""Possible orders of adding the lanes of a subgroup in float32, and reconstruction of other orders as trees.

A sum maps rows (rows, size) to (rows,); a scan maps rows (rows, size) to inclusive sums (rows, size). Every
addition is one float32 addition, rounded to nearest, so that different orders give different bits.

The tree of an unknown order follows from rows with +H in one lane, -H in another and 1 in all others, where H
is so great that H + 1 = H. The sum of a row is the number of lanes that are added after the two lanes have
been combined. One such row for each pair of lanes gives the size of the smallest subtree that contains both
lanes, and these sizes determine the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Order = Callable[[Rows], Rows]


def sum_sequential(rows: Rows) -> Rows:
    """Add in the order of lanes, starting with lane 0."""
    total = rows[:, 0].copy()
    for lane in range(1, rows.shape[1]):
        total = total + rows[:, lane]
    return total


def sum_downward(rows: Rows) -> Rows:
    """Add from the last lane down to lane 0."""
    return sum_sequential(rows[:, ::-1])


def sum_adjacent(rows: Rows) -> Rows:
    """Add adjacent lanes, then adjacent pairs, and so on (exclusive or with 1, 2, 4, …)."""
    while rows.shape[1] > 1:
        rows = rows[:, 0::2] + rows[:, 1::2]
    return rows[:, 0]


def sum_halves(rows: Rows) -> Rows:
    """Add the upper half to the lower, then the quarters, and so on (exclusive or with size/2, …, 2, 1)."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return rows[:, 0]


def sum_wide(rows: Rows) -> Rows:
    """Add in float64 and round once."""
    total: Rows = rows.astype(np.float64).sum(axis=1).astype(np.float32)
    return total


def scan_sequential(rows: Rows) -> Rows:
    """Add each lane to the sum of the lanes before it."""
    sums = rows.copy()
    for lane in range(1, rows.shape[1]):
        sums[:, lane] = sums[:, lane - 1] + rows[:, lane]
    return sums


def scan_downward(rows: Rows) -> Rows:
    """For each lane, add from that lane down to lane 0."""
    return np.stack([sum_downward(rows[:, : lane + 1]) for lane in range(rows.shape[1])], axis=1)


def scan_doubling(rows: Rows) -> Rows:
    """Add the sum 1, 2, 4, … lanes below (Hillis and Steele; Kogge and Stone)."""
    sums, distance = rows.copy(), 1
    while distance < rows.shape[1]:
        sums[:, distance:] = sums[:, :-distance] + sums[:, distance:]
        distance *= 2
    return sums


def scan_halves(rows: Rows) -> Rows:
    """Add the last sum of each lower half to all of the upper half, in blocks of 2, 4, 8, … (Sklansky)."""
    sums, half = rows.copy(), 1
    lane = np.arange(rows.shape[1])
    while half < rows.shape[1]:
        upper = lane[(lane // half) % 2 == 1]
        sums[:, upper] = sums[:, upper // half * half - 1] + sums[:, upper]
        half *= 2
    return sums


def scan_up_and_down(rows: Rows) -> Rows:
    """Add up a tree of adjacent lanes, then add the partial sums downwards (Brent and Kung)."""
    sums, size = rows.copy(), rows.shape[1]
    step = 1
    while step < size:
        into = np.arange(2 * step - 1, size, 2 * step)
        sums[:, into] = sums[:, into - step] + sums[:, into]
        step *= 2
    while step > 1:
        step //= 2
        into = np.arange(3 * step - 1, size, 2 * step)
        sums[:, into] = sums[:, into - step] + sums[:, into]
    return sums


def scan_wide(rows: Rows) -> Rows:
    """Add in float64 and round each sum once."""
    return np.cumsum(rows.astype(np.float64), axis=1).astype(np.float32)


_BLOCKS = "blocks of {} lanes: {}; then the blocks: {}"

SUMS: dict[str, Order] = {
    "sequential, lane 0 upwards": sum_sequential,
    "sequential, last lane downwards": sum_downward,
    "tree of adjacent lanes (xor 1, 2, 4, …)": sum_adjacent,
    "tree of halves (xor size/2, …, 2, 1)": sum_halves,
    "in a wider type, rounded once": sum_wide,
}
"""Orders of a reduction."""

SCANS: dict[str, Order] = {
    "sequential, lane 0 upwards": scan_sequential,
    "sequential, each lane downwards": scan_downward,
    "doubling distances (Hillis-Steele)": scan_doubling,
    "halves (Sklansky)": scan_halves,
    "up and down a tree (Brent-Kung)": scan_up_and_down,
    "in a wider type, rounded once": scan_wide,
}
"""Orders of an inclusive scan."""


def blocked_sums(size: int) -> Iterator[tuple[str, Order]]:
    """Yield the orders that add blocks of lanes in one order and then the blocks' sums in another."""
    for block, (name, inner), (other_name, outer) in product(_blocks(size), SUMS.items(), SUMS.items()):
        if inner is not outer and sum_wide not in (inner, outer):
            yield _BLOCKS.format(block, name, other_name), _in_blocks(block, inner, outer)


def blocked_scans(size: int) -> Iterator[tuple[str, Order]]:
    """Yield the orders that scan blocks of lanes and then add the sum of all earlier blocks."""
    for block, (name, inner), (other_name, outer) in product(_blocks(size), SCANS.items(), SCANS.items()):
        if scan_wide not in (inner, outer):
            yield _BLOCKS.format(block, name, other_name), _scan_in_blocks(block, inner, outer)


def exclusive(scan: Order) -> Order:
    """Return the exclusive scan that moves the results of an inclusive scan up by one lane."""
    return lambda rows: _moved_up(scan(rows))


def exclusive_of_shifted(scan: Order) -> Order:
    """Return the exclusive scan that runs an inclusive scan on the inputs moved up by one lane."""
    return lambda rows: scan(_moved_up(rows))


def _moved_up(rows: Rows) -> Rows:
    """Return the rows moved up by one lane, with 0 in lane 0."""
    moved = np.zeros_like(rows)
    moved[:, 1:] = rows[:, :-1]
    return moved


def _blocks(size: int) -> list[int]:
    return [1 << power for power in range(1, size.bit_length() - 1)]


def _in_blocks(block: int, inner: Order, outer: Order) -> Order:
    def order(rows: Rows) -> Rows:
        parts = np.split(rows, rows.shape[1] // block, axis=1)
        return outer(np.stack([inner(part) for part in parts], axis=1))

    return order


def _scan_in_blocks(block: int, inner: Order, outer: Order) -> Order:
    def order(rows: Rows) -> Rows:
        parts = [inner(part) for part in np.split(rows, rows.shape[1] // block, axis=1)]
        before = outer(np.stack([part[:, -1] for part in parts], axis=1))
        for at in range(1, len(parts)):
            parts[at] = before[:, at - 1 : at] + parts[at]
        return np.concatenate(parts, axis=1)

    return order


HUGE = np.float32(2.0**60)
"""Much greater than 2^24 times any sum of ones, much less than the overflow threshold."""

Tree = int | tuple["Tree", ...]
"""A lane, or subtrees that are added together, ordered by their lowest lanes."""


def pairs(size: int) -> NDArray[np.int64]:
    """Return all pairs of lanes, lower lane first: (pairs, 2)."""
    return np.stack(np.triu_indices(size, 1), axis=1)


def pair_rows(size: int) -> NDArray[np.float32]:
    """Return the row of each pair of `pairs`: (pairs, size) float32."""
    lanes = pairs(size)
    rows = np.ones((len(lanes), size), dtype=np.float32)
    index = np.arange(len(lanes))
    rows[index, lanes[:, 0]] = HUGE
    rows[index, lanes[:, 1]] = -HUGE
    return rows


def recover(sums: NDArray[np.float32], size: int) -> Tree | None:
    """Return the tree that explains the sums of the rows of `pair_rows`.

    `sums`: (pairs,) float32, in the order of `pairs`.
    `size`: number of lanes, at least 1.

    Returns the tree; None if no tree of additions gives these sums.
    """
    smallest = np.ones((size, size))
    lanes = pairs(size)
    smallest[lanes[:, 0], lanes[:, 1]] = smallest[lanes[:, 1], lanes[:, 0]] = size - sums
    return _subtree(smallest, np.arange(size))


def _subtree(smallest: NDArray[np.float64], lanes: NDArray[np.int64]) -> Tree | None:
    if len(lanes) == 1:
        return int(lanes[0])
    within = smallest[np.ix_(lanes, lanes)]
    near = within < len(lanes)
    # A lane must be near exactly the lanes of the same child: rows of `near` are then equal or disjoint.
    kinds, child = np.unique(near, axis=0, return_inverse=True)
    if within.max() != len(lanes) or kinds.sum() != len(lanes) or len(kinds) < 2:
        return None
    children: list[Tree] = []
    for number in dict.fromkeys(child.reshape(-1).tolist()):
        subtree = _subtree(smallest, lanes[child.reshape(-1) == number])
        if subtree is None:
            return None
        children.append(subtree)
    return tuple(children)


def evaluate(tree: Tree, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sums of rows (rows, size) in the tree's order, each addition rounded to float32."""
    if isinstance(tree, int):
        return rows[:, tree]
    total = evaluate(tree[0], rows)
    for child in tree[1:]:
        total = total + evaluate(child, rows)
    return total


def tree_text(tree: Tree) -> str:
    """Return the tree as a sum of lanes: ``((0+1)+(2+3))``."""
    if isinstance(tree, int):
        return str(tree)
    return "(" + "+".join(tree_text(child) for child in tree) + ")"

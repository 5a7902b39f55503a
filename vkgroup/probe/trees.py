"""Reconstruction of a device's order of additions as a tree.

Consider a row with +H in one lane, -H in another and 1 in all others, where H is so great that H + 1 = H. Its
sum is the number of lanes that are added after the two lanes have been combined. One such row for each pair
of lanes gives the size of the smallest subtree that contains both lanes, and these sizes determine the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HUGE = np.float32(2.0**60)
"""Much greater than 2^24 times any sum of ones, much less than the overflow threshold."""

Tree = int | tuple["Tree", ...]
"""A lane, or subtrees that are added together, ordered by their lowest lanes."""


def pairs(size: int) -> NDArray[np.int64]:
    """Return all pairs of lanes, lower lane first: (pairs, 2)."""
    return np.stack(np.triu_indices(size, 1), axis=1)


def pair_rows(size: int) -> NDArray[np.float32]:
    """Return the row of each pair of `pairs`: (pairs, size) float32."""
    both = pairs(size)
    rows = np.ones((len(both), size), dtype=np.float32)
    index = np.arange(len(both))
    rows[index, both[:, 0]] = HUGE
    rows[index, both[:, 1]] = -HUGE
    return rows


def recover(sums: NDArray[np.float32], size: int) -> Tree | None:
    """Return the tree that explains the sums of the rows of `pair_rows`.

    Parameters
    ----------
    sums : (pairs,) float32, in the order of `pairs`.
    size : number of lanes, at least 1.

    Returns
    -------
    The tree; None if no tree of additions gives these sums.
    """
    smallest = np.ones((size, size))
    both = pairs(size)
    smallest[both[:, 0], both[:, 1]] = smallest[both[:, 1], both[:, 0]] = size - sums
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


def text(tree: Tree) -> str:
    """Return the tree as a sum of lanes: ``((0+1)+(2+3))``."""
    if isinstance(tree, int):
        return str(tree)
    return "(" + "+".join(text(child) for child in tree) + ")"

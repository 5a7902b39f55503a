"""Orders of addition that the probe finds on simulated devices with known orders."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from simulated_observations import told

from vkgroup.probe import orders
from vkgroup.probe.addition import addition_orders, terms

Rows = np.ndarray
SIZES = [2, 4, 8, 16, 32, 64, 128]


def found(
    size: int,
    total: Callable[[Rows], Rows],
    scan: Callable[[Rows], Rows] = orders.scan_sequential,
    before: Callable[[Rows], Rows] | None = None,
):
    """Return the analysis of a device that adds in these orders."""
    rows = terms(size)
    reduced = np.repeat(total(rows)[:, None], size, axis=1)
    return addition_orders(reduced, scan(rows), (before or orders.exclusive(scan))(rows)).operations


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", orders.SUMS)
def test_every_known_order_of_a_sum_is_recognised(size: int, name: str) -> None:
    got = found(size, orders.SUMS[name])[0]
    assert name in (got.order, *got.same_as)
    if size > 2:
        assert (got.order, got.same_as) == (name, ()), "orders of more than two lanes differ"
    assert (got.tree, got.lanes_agree) == (None, True)


@pytest.mark.parametrize("size", [4, 8, 32, 64])
@pytest.mark.parametrize("name", orders.SCANS)
def test_every_known_order_of_a_scan_is_recognised(size: int, name: str) -> None:
    _, inclusive, exclusive = found(size, orders.sum_sequential, orders.SCANS[name])
    for got in (inclusive, exclusive):
        assert name in (got.order, *got.same_as)
    if size > 4:
        assert (inclusive.order, inclusive.same_as) == (name, ())


def test_exclusive_scan_of_moved_terms_is_told_from_moved_results() -> None:
    moved = found(16, orders.sum_halves, before=orders.exclusive_of_shifted(orders.scan_halves))[2]
    assert moved.order == "halves (Sklansky), of terms moved up a lane"


@pytest.mark.parametrize("size", [32, 64])
def test_blocks(size: int) -> None:
    def rows_of_16(rows: Rows) -> Rows:
        parts = [orders.sum_halves(rows[:, at : at + 16]) for at in range(0, size, 16)]
        return orders.sum_sequential(np.stack(parts, axis=1))

    got = found(size, rows_of_16)[0]
    assert got.order is not None
    assert got.order.startswith("blocks of 16 lanes: tree of halves")


def test_an_unknown_order_is_read_off_as_a_tree() -> None:
    tree = ((0, (3, 5)), (1, (2, (4, (6, 7)))))
    got = found(8, lambda rows: orders.evaluate(tree, rows))[0]
    assert got.order is None
    assert got.tree == "((0+(3+5))+(1+(2+(4+(6+7)))))"
    assert got.tree_confirmed
    assert got.in_words == "another order: ((0+(3+5))+(1+(2+(4+(6+7)))))"


def test_additions_of_three_terms_at_once_are_no_float32_tree() -> None:
    def three_at_once(rows: Rows) -> Rows:
        wide = rows.astype(np.float64)
        return (wide[:, :4].sum(axis=1).astype(np.float32) + wide[:, 4:].sum(axis=1)).astype(np.float32)

    got = found(8, three_at_once)[0]
    assert got.order is None
    assert not got.tree_confirmed


def test_lanes_that_disagree_are_told() -> None:
    rows = terms(8)
    reduced = np.stack([orders.sum_sequential(np.roll(rows, lane, axis=1)) for lane in range(8)], axis=1)
    scan = orders.scan_sequential(rows)
    got = addition_orders(reduced, scan, orders.exclusive(orders.scan_sequential)(rows)).operations[0]
    assert (got.order, got.lanes_agree) == (None, False)
    assert got.in_words.startswith("lanes have different sums; ")
    assert got.tree is not None
    assert got.tree_confirmed


def test_an_unknown_scan_is_read_off_in_both_forms() -> None:
    whole = ((0, (3, 5)), (1, (2, (4, (6, 7)))))
    but_one = ((0, 6), ((1, 5), (2, (3, 4))))

    def scan(rows: Rows) -> Rows:
        sums = orders.scan_doubling(rows)
        sums[:, 7] = orders.evaluate(whole, rows)
        sums[:, 6] = orders.evaluate(but_one, rows)
        return sums

    _, inclusive, exclusive = found(8, orders.sum_halves, scan)
    assert (inclusive.tree, exclusive.tree) == (orders.tree_text(whole), orders.tree_text(but_one))
    assert inclusive.tree_confirmed
    assert exclusive.tree_confirmed


def test_one_lane_adds_nothing() -> None:
    rows = terms(1)
    got = addition_orders(rows, rows, np.zeros_like(rows))
    assert told(got) == "no result: a subgroup of one lane has no additions"


def test_results_that_are_no_numbers_are_another_order() -> None:
    rows = terms(8)
    nothing = np.full_like(rows, np.nan)
    for got in addition_orders(nothing, nothing, nothing).operations:
        assert (got.order, got.tree) == (None, None)
        assert got.in_words.endswith("not a tree of float32 additions")


def test_sentence_and_json() -> None:
    rows = terms(8)
    scan = orders.scan_doubling(rows)
    reduced = np.repeat(orders.sum_adjacent(rows)[:, None], 8, axis=1)
    got = addition_orders(reduced, scan, orders.exclusive(orders.scan_doubling)(rows))
    assert told(got) == (
        "subgroupAdd: tree of adjacent lanes (xor 1, 2, 4, …); "
        "subgroupInclusiveAdd and subgroupExclusiveAdd: doubling distances (Hillis-Steele)"
    )
    data = json.loads(json.dumps(got.to_json(), allow_nan=False))
    assert [entry["operation"] for entry in data["operations"]] == [
        "subgroupAdd",
        "subgroupInclusiveAdd",
        "subgroupExclusiveAdd",
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 32])
def test_any_tree_is_recovered(size: int) -> None:
    draw = np.random.default_rng(size)
    for _ in range(10):
        tree = _random_tree(list(range(size)), draw)
        recovered = orders.recover(orders.evaluate(tree, orders.pair_rows(size)), size)
        assert recovered is not None
        assert orders.tree_text(recovered) == orders.tree_text(_sorted(tree))


def _random_tree(lanes: list[int], draw: np.random.Generator) -> orders.Tree:
    if len(lanes) == 1:
        return lanes[0]
    shuffled = [int(lane) for lane in draw.permutation(lanes)]
    cut = int(draw.integers(1, len(lanes)))
    return (_random_tree(shuffled[:cut], draw), _random_tree(shuffled[cut:], draw))


def _lowest(tree: orders.Tree) -> int:
    return tree if isinstance(tree, int) else min(_lowest(child) for child in tree)


def _sorted(tree: orders.Tree) -> orders.Tree:
    return tree if isinstance(tree, int) else tuple(sorted((_sorted(child) for child in tree), key=_lowest))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [name for name in orders.SCANS if "wider" not in name])
def test_scans_sum_the_right_lanes(size: int, name: str) -> None:
    rows = np.random.default_rng(5).integers(-1000, 1000, (4, size)).astype(np.float32)
    assert np.array_equal(orders.SCANS[name](rows), np.cumsum(rows, axis=1))

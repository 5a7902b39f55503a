"""Rounds: their order, the sets they go round, when they begin to count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_fakes import FakeContender, some_data

from vkgroup.bench.timing import (
    LEAST_ROUNDS,
    STEADY_BLOCK,
    STEADY_BLOCKS,
    Lane,
    Rounds,
    race,
    sets_needed,
    verify,
)


def _lane(name: str, times: list[float], sets: int = 1) -> tuple[Lane, FakeContender]:
    contender = FakeContender(times)
    data = [some_data(np.random.default_rng(number), 8) for number in range(sets)]
    return Lane(name, "script", [contender.prepare(one) for one in data], data), contender


def test_order_alternates() -> None:
    order: list[str] = []

    def noted(name: str) -> Lane:
        lane, contender = _lane(name, [1.0])
        contender.compute = lambda inputs: order.append(name) or {}  # type: ignore[func-returns-value]
        return lane

    rounds = Rounds([noted("A"), noted("B"), noted("C")])
    for _ in range(3):
        rounds.run()
    assert "".join(order) == "ABCCBAABC"


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("wanted", [2, 3, 6, 10])
def test_every_lane_meets_every_set_and_none_is_used_again_too_soon(lanes: int, wanted: int) -> None:
    count, evict = sets_needed(100, 100 * wanted, lanes, 16)
    assert count >= wanted
    assert not evict
    assert math.gcd(count, 2 * lanes) == 1
    used: dict[int, set[int]] = {lane: set() for lane in range(lanes)}
    sequence = []
    for number in range(2 * lanes * count):
        forwards = range(lanes) if number % 2 == 0 else reversed(range(lanes))
        for lane in forwards:
            used[lane].add(len(sequence) % count)
            sequence.append(len(sequence) % count)
    assert all(sets == set(range(count)) for sets in used.values())


def test_few_sets_and_an_empty_cache_where_many_would_be_needed() -> None:
    count, evict = sets_needed(4096, 1 << 28, 2, 16)
    assert evict
    assert 1 < count < 16


@pytest.mark.parametrize("nbytes", [0, 1 << 28, 1 << 30])
def test_one_set_where_it_is_large_enough_or_nothing_is_read(nbytes: int) -> None:
    assert sets_needed(nbytes, 1 << 28, 3, 16) == (1, False)


def test_lanes_go_round_their_sets() -> None:
    lanes = [_lane(name, [1.0], sets=3)[0] for name in "AB"]
    seen: list[int] = []
    for lane in lanes:
        for index, prepared in enumerate(lane.prepared):
            prepared.time = lambda index=index: seen.append(index) or 1.0  # type: ignore[method-assign]
    rounds = Rounds(lanes)
    for _ in range(3):
        rounds.run()
    assert seen == [0, 1, 2, 0, 1, 2]


def test_a_steady_lane_ends_the_warm_up() -> None:
    lane, _ = _lane("A", [1.0])
    result = race([lane], seconds=0.01)
    assert result.steady
    assert result.warm_up == STEADY_BLOCK * STEADY_BLOCKS
    assert len(result.samples["A"]) == result.rounds >= LEAST_ROUNDS


def test_a_lane_that_never_is_steady_is_bounded_in_time_and_reported() -> None:
    lane, _ = _lane("A", [float(1 << number) for number in range(1000)])
    result = race([lane], seconds=0.02)
    assert not result.steady
    assert result.rounds >= LEAST_ROUNDS


def test_the_warm_up_does_not_count() -> None:
    lane, _ = _lane("A", [9.0] * 5 + [1.0] * 100_000)
    assert set(race([lane], seconds=0.01).samples["A"]) == {1.0}


def test_verify_poisons_first() -> None:
    lane, contender = _lane("A", [1.0], sets=2)
    assert verify(lane) is None
    contender.compute = lambda inputs: {}
    message = verify(lane)
    assert message is not None
    assert str(0xA5A5A5A5) in message

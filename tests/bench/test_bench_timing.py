"""Rounds: their order, the sets they go round, when they begin to count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_fakes import FakeCandidate, some_data

from vkgroup.bench.timing import (
    LEAST_ROUNDS,
    STEADY_BLOCK,
    STEADY_BLOCKS,
    Rounds,
    TimingTrial,
    sets_needed,
    time_rounds,
    verify,
)


def _trial(name: str, times: list[float], sets: int = 1) -> tuple[TimingTrial, FakeCandidate]:
    candidate = FakeCandidate(times)
    data = [some_data(np.random.default_rng(number), 8) for number in range(sets)]
    return TimingTrial(name, "script", [candidate.prepare(one) for one in data], data), candidate


def test_order_alternates() -> None:
    order: list[str] = []

    def noted(name: str) -> TimingTrial:
        trial, candidate = _trial(name, [1.0])
        candidate.compute = lambda inputs: order.append(name) or {}  # type: ignore[func-returns-value]
        return trial

    rounds = Rounds([noted("A"), noted("B"), noted("C")])
    for _ in range(3):
        rounds.run()
    assert "".join(order) == "ABCCBAABC"


@pytest.mark.parametrize("trials", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("wanted", [2, 3, 6, 10])
def test_every_lane_meets_every_set_and_none_is_used_again_too_soon(trials: int, wanted: int) -> None:
    count, evict = sets_needed(100, 100 * wanted, trials, 16)
    assert count >= wanted
    assert not evict
    assert math.gcd(count, 2 * trials) == 1
    used: dict[int, set[int]] = {trial: set() for trial in range(trials)}
    sequence = []
    for number in range(2 * trials * count):
        forwards = range(trials) if number % 2 == 0 else reversed(range(trials))
        for trial in forwards:
            used[trial].add(len(sequence) % count)
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
    trials = [_trial(name, [1.0], sets=3)[0] for name in "AB"]
    seen: list[int] = []
    for trial in trials:
        for index, prepared in enumerate(trial.prepared):
            prepared.time = lambda index=index: seen.append(index) or 1.0  # type: ignore[method-assign]
    rounds = Rounds(trials)
    for _ in range(3):
        rounds.run()
    assert seen == [0, 1, 2, 0, 1, 2]


def test_a_steady_lane_ends_the_warm_up() -> None:
    trial, _ = _trial("A", [1.0])
    result = time_rounds([trial], seconds=60)  # The number of rounds ends it, also on a busy machine.
    assert result.steady
    assert result.warm_up == STEADY_BLOCK * STEADY_BLOCKS
    assert len(result.samples["A"]) == result.rounds >= LEAST_ROUNDS


def test_a_lane_that_never_is_steady_is_bounded_in_time_and_reported() -> None:
    trial, _ = _trial("A", [float(1 << number) for number in range(1000)])
    result = time_rounds([trial], seconds=0.02)
    assert not result.steady
    assert result.rounds >= LEAST_ROUNDS


def test_the_warm_up_does_not_count() -> None:
    trial, _ = _trial("A", [9.0] * 5 + [1.0] * 100_000)
    assert set(time_rounds([trial], seconds=60).samples["A"]) == {1.0}


def test_verify_poisons_first() -> None:
    trial, candidate = _trial("A", [1.0], sets=2)
    assert verify(trial) is None
    candidate.compute = lambda inputs: {}
    message = verify(trial)
    assert message is not None
    assert str(0xA5A5A5A5) in message

"""Intervals: their ranks and coverage, known by construction."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from vkgroup.bench.row import interval_ranks, is_steady, median_interval, ratio_interval


@pytest.mark.parametrize(
    ("count", "rank", "confidence"),
    # Tables of the sign test have these: between them, the ranks of 10, 20 and 100 samples.
    [(6, 1, 0.96875), (10, 2, 0.978515625), (20, 6, 0.958610534), (100, 40, 0.9647997998)],
)
def test_ranks_are_those_of_the_binomial(count: int, rank: int, confidence: float) -> None:
    assert interval_ranks(count) == (rank, pytest.approx(confidence, abs=1e-9))


@pytest.mark.parametrize("count", range(1, 13))
def test_coverage_is_what_all_ways_to_fall_give(count: int) -> None:
    rank, confidence = interval_ranks(count)
    enclosed = [rank <= sum(below) <= count - rank for below in product((0, 1), repeat=count)]
    assert np.mean(enclosed) == confidence


@pytest.mark.parametrize("count", range(6, 60))
def test_the_interval_is_the_shortest_that_is_sure_enough(count: int) -> None:
    rank, confidence = interval_ranks(count)
    assert confidence >= 0.95
    further_in = 1 - 2 * sum(comb(count, below) for below in range(rank + 1)) / 2**count
    assert further_in < 0.95


def test_few_samples_say_how_little_they_are_worth() -> None:
    estimate = median_interval([3.0, 1.0, 2.0])
    assert (estimate.median, estimate.low, estimate.high, estimate.confidence) == (2.0, 1.0, 3.0, 0.75)
    assert median_interval([7.0]).confidence == 0.0


def test_the_interval_covers_the_median_of_a_skewed_distribution() -> None:
    generator = np.random.default_rng(1)
    series = generator.lognormal(0.0, 1.0, (3000, 15))  # its median is 1
    found = [median_interval(samples) for samples in series]
    covered = np.mean([one.low <= 1.0 <= one.high for one in found])
    # Five standard deviations of 3000 tosses with the exact coverage.
    exact = found[0].confidence
    assert abs(covered - exact) < 5 * np.sqrt(exact * (1 - exact) / 3000)


def test_what_slows_a_round_cancels_out_of_a_ratio() -> None:
    drift = np.linspace(1.0, 3.0, 40)
    estimate = ratio_interval(2.0 * drift, drift)
    assert (estimate.median, estimate.low, estimate.high) == (2.0, 2.0, 2.0)


def test_the_bootstrap_covers_the_median_ratio() -> None:
    generator = np.random.default_rng(2)
    covered = []
    for number in range(150):
        ratios = 1.5 * generator.lognormal(0.0, 0.1, 31)
        estimate = ratio_interval(ratios, np.ones(31), seed=number)
        covered.append(estimate.low <= 1.5 <= estimate.high)
    assert np.mean(covered) > 0.88


def test_the_bootstrap_is_repeatable() -> None:
    above, below = np.random.default_rng(3).lognormal(size=(2, 20))
    assert ratio_interval(above, below, seed=4) == ratio_interval(above, below, seed=4)


def test_steady_needs_enough_blocks_with_one_median() -> None:
    assert is_steady([1.0] * 15, 5, 3, 0.02)
    assert not is_steady([1.0] * 14, 5, 3, 0.02)
    assert not is_steady([1.1] * 5 + [1.0] * 10, 5, 3, 0.02)
    # What was long ago, and single outliers, do not matter.
    assert is_steady([9.0] * 7 + [1.0] * 5 + [1.01] * 4 + [50.0] + [1.0] * 5, 5, 3, 0.02)


def test_overlap_and_spread() -> None:
    low, high = median_interval(np.arange(1.0, 11.0)), median_interval(np.arange(5.0, 15.0))
    assert low.overlaps(high)
    assert high.overlaps(low)
    assert not low.overlaps(median_interval(np.arange(20.0, 30.0)))
    assert low.spread == pytest.approx((low.high - low.low) / 2 / low.median)

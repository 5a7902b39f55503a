"""Medians with intervals: what a series of times says, and what it does not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
"""The least confidence of an interval, where there are enough samples for it (6 for a median)."""

_RESAMPLES = 2000

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A median and an interval that has the true one in it with some confidence.

    Attributes
    ----------
    median, low, high : in the unit of the samples.
    confidence : probability that the interval of such a series contains the true median.
    count : samples.
    """

    median: float
    low: float
    high: float
    confidence: float
    count: int

    @property
    def spread(self) -> float:
        """Half the interval's length, as a part of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0

    def overlaps(self, other: Estimate) -> bool:
        """Whether the two intervals share a point."""
        return self.low <= other.high and other.low <= self.high


def _binomial_tail(count: int, rank: int) -> float:
    """Return P(fewer than `rank` of `count` tosses of a fair coin are heads), exactly rounded."""
    return sum(math.comb(count, heads) for heads in range(rank)) / (1 << count)


def interval_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, float]:
    """Return which order statistics enclose the median, for any continuous distribution.

    The number of samples below the true median is binomial with probability 1/2. So the `rank`-th smallest
    and the `rank`-th largest of n samples enclose it with probability 1 − 2 P(B(n, 1/2) < rank) (H. A. David,
    Order Statistics, 1970, §2.5), whatever the distribution is.

    Parameters
    ----------
    count : samples, at least 1.
    confidence : wanted at the least.

    Returns
    -------
    The largest rank (from 1 on) whose interval has that confidence, and the confidence that it has. Where
    even the smallest and largest samples have less, rank 1 and what they have.
    """
    rank = 1
    while rank < (count + 1) // 2 and 1 - 2 * _binomial_tail(count, rank + 1) >= confidence:
        rank += 1
    return rank, 1 - 2 * _binomial_tail(count, rank)


def median_interval(samples: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the median of samples with its interval of order statistics.

    Parameters
    ----------
    samples : at least one number.
    confidence : wanted at the least; see `interval_ranks`.
    """
    ordered = np.sort(np.asarray(samples, np.float64))
    rank, reached = interval_ranks(len(ordered), confidence)
    return Estimate(
        float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[-rank]), reached, len(ordered)
    )


def ratio_interval(above: npt.ArrayLike, below: npt.ArrayLike, seed: int = 0) -> Estimate:
    """Return the median ratio of paired samples, with a bootstrap interval (percentiles, 2000 resamples).

    Each round gives one ratio, so that what slows a whole round down cancels out of it; rounds are resampled
    whole.

    Parameters
    ----------
    above, below : samples of the same rounds, at least one.
    seed : of the resampling.
    """
    ratios = np.asarray(above, np.float64) / np.asarray(below, np.float64)
    generator = np.random.default_rng(seed)
    medians = np.median(generator.choice(ratios, (_RESAMPLES, len(ratios))), axis=1)
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, (outside, 1 - outside))
    return Estimate(float(np.median(ratios)), float(low), float(high), CONFIDENCE, len(ratios))


def is_steady(samples: npt.ArrayLike, block: int, blocks: int, tolerance: float) -> bool:
    """Whether the last blocks of samples have the same median, but for the tolerance.

    Parameters
    ----------
    samples : in the order in which they were taken.
    block, blocks : samples of a block, and how many of the last blocks are looked at.
    tolerance : by which part of the smallest of their medians the largest may be above it.
    """
    last = np.asarray(samples, np.float64)[-block * blocks :]
    if len(last) < block * blocks:
        return False
    medians = np.median(last.reshape(blocks, block), axis=1)
    return bool(medians.max() <= medians.min() * (1 + tolerance))

"""Results of a benchmark: rows, and medians and ratios of times with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
"""Minimum confidence of an interval, if there are enough samples (6 for a median)."""

_RESAMPLES = 2000

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A median with a confidence interval."""

    #: `median`, `low`, `high`: the median and the ends of the interval, in the unit of the samples.
    median: float
    low: float
    high: float
    confidence: float  # probability that the interval of such a series contains the true median
    count: int  # number of samples

    @property
    def spread(self) -> float:
        """Half of the interval's length divided by the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0

    def overlaps(self, other: Estimate) -> bool:
        """Return whether the two intervals overlap."""
        return self.low <= other.high and other.low <= self.high


def _binomial_tail(count: int, rank: int) -> float:
    """Return the probability of fewer than `rank` heads in `count` fair coin tosses, correctly rounded."""
    return sum(math.comb(count, heads) for heads in range(rank)) / (1 << count)


def interval_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, float]:
    """Return the largest rank whose order statistics enclose the median with a confidence, and that reached.

    The number of samples below the true median is binomial with probability 1/2. So the `rank`-th smallest
    and the `rank`-th largest of n samples enclose it with probability 1 − 2 P(B(n, 1/2) < rank) (H. A. David,
    Order Statistics, 1970, §2.5), whatever the distribution is. Rank 1 is returned if no rank has the
    confidence.
    """
    rank = 1
    while rank < (count + 1) // 2 and 1 - 2 * _binomial_tail(count, rank + 1) >= confidence:
        rank += 1
    return rank, 1 - 2 * _binomial_tail(count, rank)


def median_interval(samples: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the median of at least one sample, with an interval of a minimum confidence."""
    ordered = np.sort(np.asarray(samples, np.float64))
    rank, reached = interval_ranks(len(ordered), confidence)
    return Estimate(
        float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[-rank]), reached, len(ordered)
    )


def ratio_interval(above: npt.ArrayLike, below: npt.ArrayLike, seed: int = 0) -> Estimate:
    """Return the median ratio of paired samples, with a bootstrap interval (percentiles, 2000 resamples).

    Each round gives one ratio, so a disturbance of the whole round cancels out. The bootstrap resamples whole
    rounds.
    """
    ratios = np.asarray(above, np.float64) / np.asarray(below, np.float64)
    generator = np.random.default_rng(seed)
    medians = np.median(generator.choice(ratios, (_RESAMPLES, len(ratios))), axis=1)
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, (outside, 1 - outside))
    return Estimate(float(np.median(ratios)), float(low), float(high), CONFIDENCE, len(ratios))


def is_steady(samples: npt.ArrayLike, block: int, blocks: int, tolerance: float) -> bool:
    """Return whether the medians of the last blocks of `block` samples are equal within a tolerance."""
    last = np.asarray(samples, np.float64)[-block * blocks :]
    if len(last) < block * blocks:
        return False
    medians = np.median(last.reshape(blocks, block), axis=1)
    return bool(medians.max() <= medians.min() * (1 + tolerance))


TIMESTAMPS = "GPU timestamps"
"""Name of the clock of times that the device measures."""


@dataclass(frozen=True)
class CandidateTimes:
    """One candidate of a row: its times and the values derived from them."""

    name: str  # name of the variant, peer or ceiling
    clock: str  # the clock that measured it
    samples: Samples  # one time per round, in the row's unit
    time: Estimate  # the median of the samples, with its interval
    #: Bytes or operations per second at the median; 0 if the row counts none or its unit is not seconds.
    rate: float
    counts: str = "bytes"  # unit of the rate: ``"bytes"`` or ``"operations"``


@dataclass(frozen=True)
class Share:
    """A candidate's share of a ceiling such as ``"copy"``, from paired rounds; 1 is the ceiling."""

    ceiling: str
    part: Estimate


@dataclass(frozen=True)
class BenchmarkRow:
    """One definition at one size."""

    #: `name`, `title`: name and title of the definition.
    name: str
    title: str
    size: int  # size in the definition's unit
    tuning: Mapping[str, Any] = field(default_factory=dict)  # the tuning values of a sweep; empty without one
    unit: str = "s"  # unit of all times: ``"s"`` or ``"cycles"``
    #: `bytes`, `items`, `operations`: amount of work of one run, from the definition.
    bytes: int = 0
    items: int = 0
    operations: int = 0
    counts: str = "bytes"  # unit of the rates: ``"bytes"`` or ``"operations"``
    pair: tuple[str, str] = ("subgroup", "shared")  # the two variants whose ratio the row reports
    #: `variants`, `peers`, `ceilings`: candidates with a time, by name.
    variants: Mapping[str, CandidateTimes] = field(default_factory=dict)
    peers: Mapping[str, CandidateTimes] = field(default_factory=dict)
    ceilings: Mapping[str, CandidateTimes] = field(default_factory=dict)
    #: Time of every other candidate divided by that of the pair's first, from paired rounds.
    ratios: Mapping[str, Estimate] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)  # shares of the ceilings, by variant and peer
    right: tuple[str, ...] = ()  # names of the candidates with correct results
    #: Errors of candidates with wrong results, which have no time.
    wrong: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # omitted candidates with the reasons, and other remarks
    #: `rounds`, `warm_up`, `steady`: as in `vkgroup.bench.timing.Timings`; rounds is 0 if nothing was timed.
    rounds: int = 0
    warm_up: int = 0
    steady: bool = True
    sets: int = 0  # number of sets of data that the runs alternate between
    evicted: bool = False  # whether the cache was evicted before each run

    @property
    def label(self) -> str:
        """The row's name with its size and tuning: ``"reduce.sum.float32/1048576/items:4"``."""
        return "/".join(
            (self.name, str(self.size), *(f"{key}:{value}" for key, value in self.tuning.items()))
        )

    @property
    def ratio(self) -> Estimate | None:
        """Time of the pair's second divided by that of its first, or None if one has no time."""
        return self.ratios.get(self.pair[1])

    @property
    def timed(self) -> Mapping[str, CandidateTimes]:
        """Variants and peers with a time."""
        return {**self.variants, **self.peers}

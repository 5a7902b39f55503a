"""Timing contenders in turns: warmed up until steady, each on data that no cache still holds."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vkgroup.bench.caches import Eviction
from vkgroup.bench.definition import Data, Prepared
from vkgroup.bench.heat import Heat
from vkgroup.bench.statistics import Samples, is_steady
from vkgroup.bench.verify import wrong

STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE = 5, 3, 0.02
"""Steady: for every contender, the medians of the last 3 blocks of 5 rounds are within 2 % of each other."""

WARM_UP_SHARE = 0.5
"""The warm-up ends after this part of the seconds at the latest, steady or not."""

LEAST_ROUNDS, MOST_ROUNDS = 11, 500


@dataclass(eq=False)
class Lane:
    """One contender in a race.

    Attributes
    ----------
    name : as the row calls it.
    clock : what it measures with.
    prepared : the contender on each of its sets of data.
    data : those sets, in the same order.
    rotating : whether it goes round the sets with all others, to find none of them in a cache.
    samples : what it took, one a round.
    """

    name: str
    clock: str
    prepared: Sequence[Prepared]
    data: Sequence[Data]
    rotating: bool = True
    samples: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Race:
    """How the rounds went.

    Attributes
    ----------
    samples : of each lane by name, one a round; pairs of the same round stand at the same place.
    rounds, warm_up : rounds that counted, and those before them.
    steady : whether the warm-up ended because all were steady.
    """

    samples: dict[str, Samples]
    rounds: int
    warm_up: int
    steady: bool


def verify(lane: Lane) -> str | None:
    """Run a contender once on each set, over poisoned outputs; say what is wrong, None where nothing is."""
    for prepared, data in zip(lane.prepared, lane.data, strict=True):
        prepared.poison()
        prepared.time()
        message = wrong(data, prepared.outputs())
        if message is not None:
            return message
    return None


def sets_needed(nbytes: int, past: int, lanes: int, most: int) -> tuple[int, bool]:
    """Return how many sets of data the lanes go round, and whether the cache must be emptied before each run.

    A set is used again after all others were, by whichever lane: with sets that together are `past` bytes
    (4 times the cache), none of it is left there. Rounds are run forwards and backwards in turns, so
    the order repeats every ``2 * lanes`` runs; the number of sets has no divisor with that in common, and
    every lane meets every set.

    Parameters
    ----------
    nbytes : inputs of one set; 0: nothing is read that could lie in a cache.
    past : bytes that are too many for the cache.
    lanes : contenders that share the sets.
    most : sets; where they would not do, a few are used, and the cache is emptied.
    """
    if nbytes == 0 or nbytes >= past:
        return 1, False
    count = _coprime(math.ceil(past / nbytes), 2 * lanes)
    if count <= most:
        return count, False
    return _coprime(3, 2 * lanes), True


def _coprime(count: int, other: int) -> int:
    while math.gcd(count, other) != 1:
        count += 1
    return count


class Rounds:
    """Runs rounds of all lanes, forwards and backwards in turns.

    Parameters
    ----------
    lanes : those that race.
    eviction : what empties the cache before each run; None where the sets do that.
    heat : what keeps a GPU busy before each run; None for devices without clocks of their own.
    """

    def __init__(
        self, lanes: Sequence[Lane], eviction: Eviction | None = None, heat: Heat | None = None
    ) -> None:
        self._lanes = list(lanes)
        self._eviction = eviction
        self._heat = heat
        self._round = self._turn = 0

    def run(self) -> None:
        """Run each lane once and keep its time."""
        order = self._lanes if self._round % 2 == 0 else self._lanes[::-1]
        self._round += 1
        for lane in order:
            prepared = lane.prepared[0]
            if lane.rotating:
                prepared = lane.prepared[self._turn % len(lane.prepared)]
                self._turn += 1
                if self._eviction is not None:
                    self._eviction.run()
            if self._heat is not None:
                self._heat.keep()
            lane.samples.append(prepared.time())


def race(
    lanes: Sequence[Lane], seconds: float, eviction: Eviction | None = None, heat: Heat | None = None
) -> Race:
    """Warm up until steady, then time rounds until the seconds are over.

    Parameters
    ----------
    lanes : at least one; their samples are replaced.
    seconds : for the rounds that count, which are at least 11 and at most 500; half as long at the most
        for the warm-up, which has at least 3 rounds.
    eviction, heat : as for `Rounds`. The warm-up begins with `Heat.settle`.
    """
    for lane in lanes:
        lane.samples.clear()
    rounds = Rounds(lanes, eviction, heat)
    if heat is not None:
        heat.settle()
    warm_up, steady = _warm_up(rounds, lanes, seconds * WARM_UP_SHARE)
    for lane in lanes:
        lane.samples.clear()
    start, count = time.perf_counter(), 0
    while count < LEAST_ROUNDS or (count < MOST_ROUNDS and time.perf_counter() - start < seconds):
        rounds.run()
        count += 1
    samples = {lane.name: np.array(lane.samples) for lane in lanes}
    return Race(samples, count, warm_up, steady)


def _warm_up(rounds: Rounds, lanes: Sequence[Lane], seconds: float) -> tuple[int, bool]:
    """Run rounds until all lanes are steady or the seconds are over; gives their number and which it was."""
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < seconds:
        rounds.run()
        count += 1
        if all(is_steady(lane.samples, STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE) for lane in lanes):
            return count, True
    return count, False

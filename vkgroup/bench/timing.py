"""Timing of contenders in alternation, after a warm-up, on data that is not in a cache."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from vkgroup.bench.caches import Eviction
from vkgroup.bench.definition import Data, Prepared
from vkgroup.bench.host import wrong
from vkgroup.bench.statistics import Samples, is_steady
from vkgroup.closing import Closing
from vkgroup.dispatch import Device
from vkgroup.resources import bench

SETTLE_SECONDS = 0.5
"""Seconds of uninterrupted work before a row's rounds; an H200 reached its full clocks within 0.3 s."""

KEEP_SECONDS = 3e-4
"""Seconds of work before each timed run; the host's work for a run takes about a tenth of this."""

_GROUPS = 4096
_FIRST_TURNS, _MOST_TURNS = 256, 1 << 22


class Heat(Closing):
    """Work that keeps a GPU busy: arithmetic without memory accesses, which does not change the caches.

    Parameters
    ----------
    device : a GPU with timestamps, which are used to determine the amount of work.
    """

    def __init__(self, device: Device) -> None:
        with ExitStack() as stack:
            result = stack.enter_context(device.buffer(np.zeros(1, np.float32)))
            pipeline = stack.enter_context(device.pipeline(device.compile(bench("shaders") / "heat.comp")))
            self._bound = stack.enter_context(pipeline.bind({"Result": result}))
            self._stack = stack.pop_all()
        self._turns = _FIRST_TURNS

    def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Run work for some seconds without a pause."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            taken = self._bound.timed(_GROUPS, {"turns": self._turns}) or KEEP_SECONDS
            wanted = self._turns * KEEP_SECONDS / max(taken, 1e-7)
            self._turns = int(min(max(wanted, 1), _MOST_TURNS))

    def keep(self) -> None:
        """Run a short amount of work before a timed run."""
        self._bound.dispatch(_GROUPS, {"turns": self._turns})

    def close(self) -> None:
        """Free the pipelines and buffers of the work."""
        self._stack.close()


def heat(device: Device) -> Heat | None:
    """Return the work that keeps a device busy; None for CPU devices, which have no separate clocks."""
    capabilities = device.capabilities
    return Heat(device) if capabilities.is_gpu and capabilities.timestamps.valid_bits else None


STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE = 5, 3, 0.02
"""Definition of steady: each contender's medians of the last 3 blocks of 5 rounds are within 2 %."""

WARM_UP_SHARE = 0.5
"""Maximum duration of the warm-up, as a fraction of the duration of the timed rounds."""

LEAST_ROUNDS, MOST_ROUNDS = 11, 500


@dataclass(eq=False)
class Lane:
    """One contender of a measurement.

    Attributes
    ----------
    name : name in the row.
    clock : the clock that measures it.
    prepared : the contender prepared on each of its sets of data.
    data : these sets, in the same order.
    rotating : whether it alternates between the sets together with the other contenders, so that no set is in
        a cache.
    samples : its times, one per round.
    """

    name: str
    clock: str
    prepared: Sequence[Prepared]
    data: Sequence[Data]
    rotating: bool = True
    samples: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Race:
    """Results of the timed rounds.

    Attributes
    ----------
    samples : times of each lane by name; times of the same round have the same index.
    rounds, warm_up : number of timed rounds, and of warm-up rounds.
    steady : whether the warm-up ended because all lanes were steady.
    """

    samples: dict[str, Samples]
    rounds: int
    warm_up: int
    steady: bool


def verify(lane: Lane) -> str | None:
    """Run a contender once on each set with overwritten outputs; return the first error, or None."""
    for prepared, data in zip(lane.prepared, lane.data, strict=True):
        prepared.poison()
        prepared.time()
        message = wrong(data, prepared.outputs())
        if message is not None:
            return message
    return None


def sets_needed(nbytes: int, past: int, lanes: int, most: int) -> tuple[int, bool]:
    """Return the number of sets of data, and whether the cache must be evicted before each run.

    All lanes together cycle through the sets, so a set is reused only after all others were used. If the sets
    have at least `past` bytes together (4 times the cache), none of a set's data is still in the cache. The
    order of lanes alternates between forward and backward, so it repeats every ``2 * lanes`` runs. The number
    of sets is coprime to this period, so every lane uses every set.

    Parameters
    ----------
    nbytes : bytes of the inputs of one set; 0: nothing is read that could be in a cache.
    past : number of bytes after which the cache no longer holds earlier data.
    lanes : number of contenders that share the sets.
    most : maximum number of sets. If more would be needed, a few sets are used and the cache is evicted.
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
    """Runs rounds of all lanes, alternately in forward and backward order.

    Parameters
    ----------
    lanes : the lanes to time.
    eviction : evicts the cache before each run; None if the number of sets is sufficient.
    heat : keeps a GPU busy before each run; None for devices without separate clocks.
    """

    def __init__(
        self, lanes: Sequence[Lane], eviction: Eviction | None = None, heat: Heat | None = None
    ) -> None:
        self._lanes = list(lanes)
        self._eviction = eviction
        self._heat = heat
        self._round = self._turn = 0

    def run(self) -> None:
        """Run each lane once and record its time."""
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
    """Warm up until all lanes are steady, then time rounds for a number of seconds.

    Parameters
    ----------
    lanes : at least one lane; their samples are replaced.
    seconds : duration of the timed rounds, of which there are at least 11 and at most 500. The warm-up has at
        least 3 rounds and takes at most half of this time.
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
    """Run rounds until all lanes are steady or the time is over; return their number, and whether steady."""
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < seconds:
        rounds.run()
        count += 1
        if all(is_steady(lane.samples, STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE) for lane in lanes):
            return count, True
    return count, False

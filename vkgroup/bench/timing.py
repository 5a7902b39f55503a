"""Timing of candidates in alternation, after a warm-up, with data that is not in a cache."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from vkgroup.base.files import bench
from vkgroup.base.lifetime import Closeable
from vkgroup.bench.definition import Data, PreparedCandidate
from vkgroup.bench.host import first_error
from vkgroup.bench.machine import Eviction
from vkgroup.bench.row import Samples, is_steady
from vkgroup.dispatch import Device

STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE = 5, 3, 0.02
"""Definition of steady: each candidate's medians of the last 3 blocks of 5 rounds are within 2 %."""

WARM_UP_SHARE = 0.5
"""Maximum duration of the warm-up, as a fraction of the duration of the timed rounds."""

LEAST_ROUNDS, MOST_ROUNDS = 11, 500

RAISE_CLOCKS_SECONDS = 0.5
"""Seconds of uninterrupted work before a row's rounds; an H200 reached its full clocks within 0.3 s."""

_LOAD_SECONDS = 3e-4
"""Seconds of work before each timed run; the host's work for a run takes about a tenth of this."""

_LOAD_GROUPS = 4096
_FIRST_ITERATIONS, _MOST_ITERATIONS = 256, 1 << 22


class GpuLoad(Closeable):
    """Arithmetic that keeps a GPU with timestamps busy between timed runs, without memory accesses.

    A GPU that is mostly idle lowers its clocks, and needs a third of a second of uninterrupted work to raise
    them again. On an H200 with gaps of 5 ms between runs of 1 ms, a sum of 2^28 numbers took 2.4 times as
    long as without the gaps (docs/benchmarks/method.md). The GPU is idle while the host prepares and compares
    data, so later runs would be timed at low clocks.
    """

    def __init__(self, device: Device) -> None:
        with ExitStack() as stack:
            result = stack.enter_context(device.buffer(np.zeros(1, np.float32)))
            module = device.compile(bench("shaders") / "gpu_load.comp")
            pipeline = stack.enter_context(device.pipeline(module))
            self._bound = stack.enter_context(pipeline.bind({"Result": result}))
            self._stack = stack.pop_all()
        self._iterations = _FIRST_ITERATIONS

    def raise_clocks(self, seconds: float = RAISE_CLOCKS_SECONDS) -> None:
        """Run work for some seconds without a pause, and determine the amount of work for `run`."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            taken = self._bound.timed(_LOAD_GROUPS, {"iterations": self._iterations}) or _LOAD_SECONDS
            wanted = self._iterations * _LOAD_SECONDS / max(taken, 1e-7)
            self._iterations = int(min(max(wanted, 1), _MOST_ITERATIONS))

    def run(self) -> None:
        """Run a short amount of work before a timed run."""
        self._bound.dispatch(_LOAD_GROUPS, {"iterations": self._iterations})

    def close(self) -> None:
        """Free the pipelines and buffers of the work."""
        self._stack.close()


def gpu_load(device: Device) -> GpuLoad | None:
    """Return the work that keeps a device busy; None for CPU devices, which have no separate clocks."""
    capabilities = device.capabilities
    return GpuLoad(device) if capabilities.is_gpu and capabilities.timestamps.valid_bits else None


@dataclass(eq=False)
class TimingTrial:
    """One candidate of a measurement, prepared on each of its sets of data, with one sample per round.

    A `rotating` trial alternates between the sets together with the other candidates, so that no set is in a
    cache.
    """

    name: str
    clock: str
    prepared: Sequence[PreparedCandidate]
    data: Sequence[Data]
    rotating: bool = True
    samples: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Timings:
    """Samples of each trial by name, with one index per round, and the numbers of rounds.

    `steady` is true if the warm-up ended because all trials were steady.
    """

    samples: dict[str, Samples]
    rounds: int
    warm_up: int
    steady: bool


def verify(trial: TimingTrial) -> str | None:
    """Run a candidate once on each set with overwritten outputs; return the first error, or None."""
    for prepared, data in zip(trial.prepared, trial.data, strict=True):
        prepared.overwrite_outputs()
        prepared.time()
        message = first_error(data, prepared.outputs())
        if message is not None:
            return message
    return None


def sets_needed(nbytes: int, evicting_bytes: int, trials: int, most: int) -> tuple[int, bool]:
    """Return the number of sets of data, and whether the cache must be evicted before each run.

    All trials together cycle through the sets, so a set is reused only after all others were used. If the
    sets have at least `evicting_bytes` together (4 times the cache), none of a set's data is still in the
    cache. The order of trials alternates between forward and backward, so it repeats every ``2 * trials``
    runs. The number of sets is coprime to this period, so every trial uses every set.

    `nbytes`: bytes of the inputs of one set; 0: nothing is read that could be in a cache.
    `evicting_bytes`: number of bytes after which the cache no longer holds earlier data.
    `trials`: number of candidates that share the sets.
    `most`: maximum number of sets. If more would be needed, a few sets are used and the cache is evicted.
    """
    if nbytes == 0 or nbytes >= evicting_bytes:
        return 1, False
    count = _coprime(math.ceil(evicting_bytes / nbytes), 2 * trials)
    if count <= most:
        return count, False
    return _coprime(3, 2 * trials), True


def _coprime(count: int, other: int) -> int:
    """Return the smallest number from `count` on that is coprime to another."""
    while math.gcd(count, other) != 1:
        count += 1
    return count


class Rounds:
    """Runs rounds of all trials, alternately in forward and backward order.

    The cache is evicted before each run unless `eviction` is None, and `load` keeps a GPU busy.
    """

    def __init__(
        self, trials: Sequence[TimingTrial], eviction: Eviction | None = None, load: GpuLoad | None = None
    ) -> None:
        self._trials = list(trials)
        self._eviction, self._load = eviction, load
        self._round = self._run = 0

    def run(self) -> None:
        """Run each trial once and record its time."""
        order = self._trials if self._round % 2 == 0 else self._trials[::-1]
        self._round += 1
        for trial in order:
            prepared = trial.prepared[0]
            if trial.rotating:
                prepared = trial.prepared[self._run % len(trial.prepared)]
                self._run += 1
                if self._eviction is not None:
                    self._eviction.run()
            if self._load is not None:
                self._load.run()
            trial.samples.append(prepared.time())


def time_rounds(
    trials: Sequence[TimingTrial],
    seconds: float,
    eviction: Eviction | None = None,
    load: GpuLoad | None = None,
) -> Timings:
    """Warm up until all trials are steady, then time rounds for a number of seconds.

    `trials`: at least one trial; their samples are replaced.
    `seconds`: duration of the timed rounds, of which there are at least 11 and at most 500. The warm-up has
    at least 3 rounds and takes at most half of this time.
    `eviction`, `load`: as for `Rounds`. The warm-up begins with `GpuLoad.raise_clocks`.
    """
    for trial in trials:
        trial.samples.clear()
    rounds = Rounds(trials, eviction, load)
    if load is not None:
        load.raise_clocks()
    start, warm_up, steady = time.perf_counter(), 0, False
    while not steady and (warm_up < 3 or time.perf_counter() - start < seconds * WARM_UP_SHARE):
        rounds.run()
        warm_up += 1
        steady = all(
            is_steady(trial.samples, STEADY_BLOCK, STEADY_BLOCKS, STEADY_TOLERANCE) for trial in trials
        )
    for trial in trials:
        trial.samples.clear()
    start, count = time.perf_counter(), 0
    while count < LEAST_ROUNDS or (count < MOST_ROUNDS and time.perf_counter() - start < seconds):
        rounds.run()
        count += 1
    return Timings({trial.name: np.array(trial.samples) for trial in trials}, count, warm_up, steady)

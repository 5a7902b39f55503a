"""Measurement of one row: prepare, verify, time with ceilings, verify again, and evaluate the times."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, OutOfMemory, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.bench.candidates import Candidates
from vkgroup.bench.catalogue import CEILING
from vkgroup.bench.definition import BenchmarkCase, Definition, Peer
from vkgroup.bench.machine import Cache, Eviction
from vkgroup.bench.row import BenchmarkRow, CandidateTimes, Samples, Share, median_interval, ratio_interval
from vkgroup.bench.timing import GpuLoad, Timings, TimingTrial, sets_needed, time_rounds
from vkgroup.dispatch import Device

_CPU_SECONDS = 0.02
"""Approximate duration of a ceiling's run on a CPU device; longer if memory must be filled."""

_CHOICE_SECONDS = 0.2
_MOST_OF_MEMORY = 0.25
"""Fraction of device memory that one set of data may use, since all variants and peers have outputs."""

_MOST_GROWTH = 1 << 6
"""Maximum factor between two sizes that `largest_within` tries."""

_MOST_SETS = 16


@dataclass(frozen=True)
class Ceiling:
    """A limit of the device, ready to be timed in the same rounds as the results compared with it.

    `amount` is the number of bytes or operations (`counts`) of one run.
    """

    name: str
    amount: float
    counts: str
    trial: TimingTrial


class Ceilings(Closeable):
    """The ceilings of a run, each prepared when a row first needs it, and then kept until the end.

    Attributes
    ----------
    notes : omitted ceilings, with the reasons.
    """

    def __init__(
        self, device: Device, definitions: Iterable[Definition], cache: Cache, rng: np.random.Generator
    ) -> None:
        self._device, self._cache, self._rng = device, cache, rng
        self._definitions = {
            definition.name.removeprefix(CEILING): definition
            for definition in definitions
            if definition.name.startswith(CEILING)
        }
        self._ready: dict[str, Ceiling | None] = {}
        self._open: list[Candidates] = []
        self.notes: list[str] = []

    def get(self, name: str) -> Ceiling | None:
        """Return a ceiling, or None if it cannot be measured; a note then explains the reason once."""
        if name not in self._ready:
            self._ready[name] = self._prepare(name)
        return self._ready[name]

    def close(self) -> None:
        """Free everything."""
        self._ready.clear()
        for candidates in self._open:
            candidates.close()
        self._open.clear()

    def _prepare(self, name: str) -> Ceiling | None:
        definition = self._definitions.get(name)
        if definition is None:
            self.notes.append(
                f"There is no benchmark {CEILING}{name}; results have no share of this ceiling."
            )
            return None
        try:
            case = definition.make(self._device, self._size(definition), {})
        except Unsupported as error:
            self.notes.append(f"{CEILING}{name}: {error}")
            return None
        candidates = Candidates(self._device, case, self._rng, {})
        self._open.append(candidates)
        candidates.start()
        self.notes += [f"{CEILING}{name}: {note}" for note in candidates.notes]
        self.notes += [
            f"{CEILING}{name}: {candidate} is wrong: {error}" for candidate, error in candidates.wrong.items()
        ]
        trials = list(candidates.trials.values())
        if len(trials) > 1:
            samples = time_rounds(trials, _CHOICE_SECONDS).samples
            trials.sort(key=lambda trial: float(np.median(samples[trial.name])))
        if not trials:
            return None
        fastest = trials[0]
        trial = TimingTrial(f"{CEILING}{name}", fastest.clock, fastest.prepared, fastest.data, rotating=False)
        return Ceiling(name, case.amount, case.rate, trial)

    def _size(self, definition: Definition) -> int:
        """Return the largest size on a GPU; on a CPU a size that runs briefly and exceeds the cache."""
        if self._device.capabilities.is_gpu:
            return largest_in_memory(definition, self._device)

        def spent(size: int) -> float:
            return next(iter(variant_seconds(self._device, definition, size, self._rng)), _CPU_SECONDS)

        size = largest_within(definition.sizes, _CPU_SECONDS, spent)
        large = [
            size for size in definition.sizes if self._exceeds_cache(definition.make(self._device, size, {}))
        ]
        return max(size, min(large, default=definition.sizes[-1]))

    def _exceeds_cache(self, case: BenchmarkCase) -> bool:
        return case.rate != "bytes" or case.bytes >= self._cache.evicting_bytes


def variant_seconds(
    device: Device, definition: Definition, size: int, rng: np.random.Generator
) -> list[float]:
    """Return the seconds of one run of each variant at a size; peers are not run."""
    with Candidates(device, definition.make(device, size, {}), rng, {}) as candidates:
        candidates.start()
        seconds = []
        for trial in candidates.trials.values():
            start = time.perf_counter()
            trial.prepared[0].time()
            seconds.append(time.perf_counter() - start)
        return seconds


def largest_in_memory(definition: Definition, device: Device) -> int:
    """Return the largest size of a definition whose case fits into the device's memory."""
    heaps = [nbytes for nbytes, flags in device.capabilities.memory_heaps if "device_local" in flags]
    room = max(heaps, default=1 << 32) * _MOST_OF_MEMORY
    fitting = [size for size in definition.sizes if definition.make(device, size, {}).bytes <= room]
    return max(fitting, default=definition.sizes[0])


def largest_within(sizes: Sequence[int], seconds: float, spent: Callable[[int], float]) -> int:
    """Return approximately the largest of ascending sizes that takes no longer than `seconds`.

    `spent` runs a size and returns its seconds. The search assumes that time is proportional to size, and
    increases the size by a factor of at most 2^6. If a size takes too long, the result is interpolated
    between it and the previous size.
    """
    index, taken = 0, spent(sizes[0])
    while taken <= seconds and index < len(sizes) - 1:
        affordable = sizes[index] * min(seconds / max(taken, 1e-9), _MOST_GROWTH)
        higher = max(index + 1, _last_within(sizes, affordable))
        after = spent(sizes[higher])
        if after > seconds:
            growth = max(math.log(after / max(taken, 1e-9)) / math.log(sizes[higher] / sizes[index]), 1e-3)
            between = sizes[index] * (seconds / max(taken, 1e-9)) ** (1 / growth)
            return sizes[max(index, min(higher - 1, _last_within(sizes, between)))]
        index, taken = higher, after
    return sizes[index]


def _last_within(sizes: Sequence[int], most: float) -> int:
    """Return the index of the last size that is at most a number, or 0."""
    return max((index for index, size in enumerate(sizes) if size <= most), default=0)


@dataclass(frozen=True)
class BenchmarkSession:
    """Settings and resources that all rows of a run share; `seconds` is the duration of timed rounds."""

    device: Device
    cache: Cache
    eviction: Eviction | None
    load: GpuLoad | None
    ceilings: Ceilings
    peers: dict[str, Peer]
    seed: int
    seconds: float
    smoke: bool


def measure(
    session: BenchmarkSession, definition: Definition, size: int, tuning: Mapping[str, Any]
) -> BenchmarkRow:
    """Measure one definition at one size and return its row; a candidate with wrong results has no time.

    Raises DeviceLost or DispatchTimeout: the device can no longer be used.
    """
    row = BenchmarkRow(definition.name, definition.title, size, dict(tuning))
    try:
        case = definition.make(session.device, size, tuning)
    except (Unsupported, OutOfMemory, InvalidDispatch) as error:
        if isinstance(error, InvalidDispatch) and not tuning:
            raise
        return replace(row, notes=(str(error),))
    row = replace(
        row,
        unit=case.unit,
        bytes=case.bytes,
        items=case.items,
        operations=case.operations,
        counts=case.rate,
        pair=case.pair,
    )
    # The data of a row does not depend on the other rows of the run.
    rng = np.random.default_rng([session.seed, zlib.crc32(definition.name.encode()), size])
    with Candidates(session.device, case, rng, session.peers, bool(tuning)) as candidates:
        candidates.start()
        if candidates.trials and not session.smoke:
            row = _timed(session, row, candidates)
        return replace(
            row, right=tuple(candidates.trials), wrong=dict(candidates.wrong), notes=tuple(candidates.notes)
        )


def _timed(session: BenchmarkSession, row: BenchmarkRow, candidates: Candidates) -> BenchmarkRow:
    """Time the candidates, verify them again, and return the row with times, ratios and shares."""
    case = candidates.case
    nbytes = candidates.input_bytes if case.bytes else 0
    sets, evict = sets_needed(nbytes, session.cache.evicting_bytes, len(candidates.trials), _MOST_SETS)
    for _ in range(sets - 1):
        candidates.add_set()
    names = case.ceilings if case.unit == "s" else ()
    ceilings = [ceiling for name in names if (ceiling := session.ceilings.get(name)) is not None]
    trials = [*candidates.trials.values(), *(ceiling.trial for ceiling in ceilings)]
    result = time_rounds(trials, session.seconds, session.eviction if evict else None, session.load)
    candidates.verify_again()
    timed = {
        name: _evaluated(trial, result, case.amount if case.unit == "s" else 0, case.rate, name)
        for name, trial in candidates.trials.items()
    }
    timed_ceilings = {
        ceiling.name: _evaluated(ceiling.trial, result, ceiling.amount, ceiling.counts, ceiling.name)
        for ceiling in ceilings
    }
    first = timed.get(case.pair[0])
    ratios = {
        name: ratio_interval(entry.samples, first.samples, session.seed)
        for name, entry in timed.items()
        if first is not None and entry is not first
    }
    shares = {
        name: max(
            (_share(case, ceiling, timed_ceilings, entry.samples, session.seed) for ceiling in ceilings),
            key=lambda share: share.part.median,
        )
        for name, entry in timed.items()
        if ceilings
    }
    return replace(
        row,
        variants={name: entry for name, entry in timed.items() if name not in case.peers},
        peers={name: entry for name, entry in timed.items() if name in case.peers},
        ceilings=timed_ceilings,
        ratios=ratios,
        shares=shares,
        rounds=result.rounds,
        warm_up=result.warm_up,
        steady=result.steady,
        sets=sets,
        evicted=evict,
    )


def _evaluated(trial: TimingTrial, result: Timings, amount: float, counts: str, name: str) -> CandidateTimes:
    """Return a candidate's samples with their median and its rate."""
    samples = result.samples[trial.name]
    estimate = median_interval(samples)
    rate = amount / estimate.median if estimate.median > 0 else 0.0
    return CandidateTimes(name, trial.clock, samples, estimate, rate, counts)


def _share(
    case: BenchmarkCase,
    ceiling: Ceiling,
    timed_ceilings: Mapping[str, CandidateTimes],
    samples: Samples,
    seed: int,
) -> Share:
    """Return a candidate's share of a ceiling, from paired rounds."""
    factor = case.ceilings[ceiling.name] / ceiling.amount
    ratio = ratio_interval(timed_ceilings[ceiling.name].samples, samples, seed)
    scaled = replace(ratio, median=ratio.median * factor, low=ratio.low * factor, high=ratio.high * factor)
    return Share(ceiling.name, scaled)

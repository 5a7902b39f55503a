"""Measurement of one row: prepare, verify, time, verify again, and evaluate the times."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.bench.caches import Cache, Eviction
from vkgroup.bench.catalogue import CEILING
from vkgroup.bench.definition import Case, Definition, Peer
from vkgroup.bench.entrants import Entrants
from vkgroup.bench.row import Row, Share, Timed
from vkgroup.bench.sizes import climb, largest_in_memory, time_once
from vkgroup.bench.statistics import Estimate, Samples, median_interval, ratio_interval
from vkgroup.bench.timing import Heat, Lane, Race, race, sets_needed
from vkgroup.closing import Closing
from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch, OutOfMemory, Unsupported

_CPU_SECONDS = 0.02
"""Approximate duration of a ceiling's run on a CPU device; longer if memory must be filled."""

_CHOICE_SECONDS = 0.2


@dataclass(frozen=True)
class Ceiling:
    """A ceiling that is ready to be timed.

    Attributes
    ----------
    name : without ``"ceiling."``.
    amount : bytes or operations of one run; `counts` is the unit.
    lane : the contender to time, which has its own data.
    """

    name: str
    amount: float
    counts: str
    size: int
    lane: Lane


class Ceilings(Closing):
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
            one.name.removeprefix(CEILING): one for one in definitions if one.name.startswith(CEILING)
        }
        self._ready: dict[str, Ceiling | None] = {}
        self._open: list[Entrants] = []
        self.notes: list[str] = []

    def get(self, name: str) -> Ceiling | None:
        """Return a ceiling, or None if it cannot be measured; a note then explains the reason once."""
        if name not in self._ready:
            self._ready[name] = self._prepare(name)
        return self._ready[name]

    def close(self) -> None:
        """Free everything."""
        self._ready.clear()
        for entrants in self._open:
            entrants.close()
        self._open.clear()

    def _prepare(self, name: str) -> Ceiling | None:
        definition = self._definitions.get(name)
        if definition is None:
            self.notes.append(
                f"There is no benchmark {CEILING}{name}; results have no share of this ceiling."
            )
            return None
        try:
            size = self._size(definition)
            case = definition.make(self._device, size, {})
        except Unsupported as error:
            self.notes.append(f"{CEILING}{name}: {error}")
            return None
        entrants = Entrants(self._device, case, self._rng, {})
        self._open.append(entrants)
        entrants.enter()
        self.notes += [f"{CEILING}{name}: {note}" for note in entrants.notes]
        self.notes += [
            f"{CEILING}{name}: {entrant} is wrong: {what}" for entrant, what in entrants.wrong.items()
        ]
        fastest = _fastest(entrants)
        if fastest is None:
            return None
        lane = Lane(f"{CEILING}{name}", fastest.clock, fastest.prepared, fastest.data, rotating=False)
        return Ceiling(name, case.amount, case.rate, size, lane)

    def _size(self, definition: Definition) -> int:
        """Return the largest size on a GPU; on a CPU a size that runs briefly and exceeds the cache."""
        if self._device.capabilities.is_gpu:
            return largest_in_memory(definition, self._device)

        def spent(size: int) -> float:
            entrants = Entrants(self._device, definition.make(self._device, size, {}), self._rng, {})
            try:
                entrants.enter()
                lanes = list(entrants.lanes.values())
                return time_once(lanes[0].prepared[0].time) if lanes else _CPU_SECONDS
            finally:
                entrants.close()

        size = climb(definition.sizes, _CPU_SECONDS, spent)
        large = [one for one in definition.sizes if self._past_cache(definition.make(self._device, one, {}))]
        return max(size, min(large, default=definition.sizes[-1]))

    def _past_cache(self, case: Case) -> bool:
        return case.rate != "bytes" or case.bytes >= self._cache.past


def _fastest(entrants: Entrants) -> Lane | None:
    lanes = list(entrants.lanes.values())
    if len(lanes) > 1:
        samples = race(lanes, _CHOICE_SECONDS).samples
        return min(lanes, key=lambda lane: float(np.median(samples[lane.name])))
    return lanes[0] if lanes else None


_MOST_SETS = 16


@dataclass(frozen=True)
class Course:
    """Settings and resources that all rows of a run share.

    Attributes
    ----------
    device, cache, eviction, heat, ceilings, peers : see their types; `peers` has only available peers.
    seed : seed of all data and of resampling.
    seconds : duration of the timed rounds of one row.
    smoke : whether results are only verified, and nothing is timed.
    """

    device: Device
    cache: Cache
    eviction: Eviction | None
    heat: Heat | None
    ceilings: Ceilings
    peers: dict[str, Peer]
    seed: int
    seconds: float
    smoke: bool


def measure(course: Course, definition: Definition, size: int, tuning: Mapping[str, Any]) -> Row:
    """Measure one definition at one size and return its row; a contender with wrong results has no time.

    Raises
    ------
    DeviceLost, DispatchTimeout
        The device can no longer be used.
    """
    row = Row(definition.name, definition.title, size, dict(tuning))
    try:
        case = definition.make(course.device, size, tuning)
    except (Unsupported, OutOfMemory) as error:
        return replace(row, notes=(str(error),))
    except InvalidDispatch as error:
        if not tuning:
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
    rng = np.random.default_rng([course.seed, zlib.crc32(definition.name.encode()), size])
    entrants = Entrants(course.device, case, rng, course.peers, bool(tuning))
    try:
        entrants.enter()
        if course.smoke or not entrants.lanes:
            return _verified(row, entrants)
        return _timed(course, row, entrants)
    finally:
        entrants.close()


def _timed(course: Course, row: Row, entrants: Entrants) -> Row:
    """Time the contenders, verify them again, and complete the row."""
    nbytes = entrants.input_bytes if entrants.case.bytes else 0
    sets, evict = sets_needed(nbytes, course.cache.past, len(entrants.lanes), _MOST_SETS)
    for _ in range(sets - 1):
        entrants.add_set()
    ceilings = _ceilings(course, entrants.case)
    lanes = [*entrants.lanes.values(), *(ceiling.lane for ceiling in ceilings)]
    result = race(lanes, course.seconds, course.eviction if evict else None, course.heat)
    entrants.verify_again()
    row = _verified(row, entrants)
    row = replace(
        row, rounds=result.rounds, warm_up=result.warm_up, steady=result.steady, sets=sets, evicted=evict
    )
    return _judged(row, entrants, ceilings, result, course.seed)


def _verified(row: Row, entrants: Entrants) -> Row:
    return replace(
        row, right=tuple(entrants.lanes), wrong=dict(entrants.wrong), notes=row.notes + tuple(entrants.notes)
    )


def _ceilings(course: Course, case: Case) -> list[Ceiling]:
    """Return the ceilings of a case that can be measured."""
    if case.unit != "s":
        return []
    ceilings = (course.ceilings.get(name) for name in case.ceilings)
    return [ceiling for ceiling in ceilings if ceiling is not None]


def _judged(row: Row, entrants: Entrants, ceilings: list[Ceiling], result: Race, seed: int) -> Row:
    """Return the row with times, ratios and shares."""
    case = entrants.case
    timed = {
        name: _one(lane, result, case.amount if case.unit == "s" else 0, case.rate, name)
        for name, lane in entrants.lanes.items()
    }
    tops = {one.name: _one(one.lane, result, one.amount, one.counts, one.name) for one in ceilings}
    first = timed.get(case.pair[0])
    ratios = {
        name: ratio_interval(entry.samples, first.samples, seed)
        for name, entry in timed.items()
        if first is not None and entry is not first
    }
    return replace(
        row,
        variants={name: entry for name, entry in timed.items() if not entrants.is_peer(name)},
        peers={name: entry for name, entry in timed.items() if entrants.is_peer(name)},
        ceilings=tops,
        ratios=ratios,
        shares={
            name: share
            for name, entry in timed.items()
            if (share := _share(case, ceilings, tops, entry.samples, seed)) is not None
        },
    )


def _one(lane: Lane, result: Race, amount: float, counts: str, name: str) -> Timed:
    samples = result.samples[lane.name]
    estimate = median_interval(samples)
    rate = amount / estimate.median if estimate.median > 0 else 0.0
    return Timed(name, lane.clock, samples, estimate, rate, counts)


def _share(
    case: Case, ceilings: list[Ceiling], tops: Mapping[str, Timed], samples: Samples, seed: int
) -> Share | None:
    """Return the largest of a contender's shares of its ceilings."""
    shares = []
    for ceiling in ceilings:
        factor = case.ceilings[ceiling.name] / ceiling.amount
        part = ratio_interval(tops[ceiling.name].samples, samples, seed)
        shares.append(Share(ceiling.name, _scaled(part, factor)))
    return max(shares, key=lambda share: share.part.median, default=None)


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    return replace(
        estimate, median=estimate.median * factor, low=estimate.low * factor, high=estimate.high * factor
    )

"""Measurement of one row: prepare, verify, time, verify again, and evaluate the times."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.bench.caches import Cache, Eviction
from vkgroup.bench.ceilings import Ceiling, Ceilings
from vkgroup.bench.definition import Case, Definition, Peer
from vkgroup.bench.entrants import Entrants
from vkgroup.bench.heat import Heat
from vkgroup.bench.row import Row, Share, Timed
from vkgroup.bench.statistics import Estimate, Samples, median_interval, ratio_interval
from vkgroup.bench.timing import Lane, Race, race, sets_needed
from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch, OutOfMemory, Unsupported

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

"""Benchmark runs: all selected benchmarks at their sizes, on one device, with one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vkgroup import choices
from vkgroup.bench import catalogue
from vkgroup.bench.caches import Cache, eviction, last_level_cache
from vkgroup.bench.definition import Definition, Peer
from vkgroup.bench.entrants import Entrants
from vkgroup.bench.measure import Ceilings, Course, measure
from vkgroup.bench.row import Row
from vkgroup.bench.sizes import climb, largest_in_memory, time_once
from vkgroup.bench.timing import heat
from vkgroup.dispatch import Device
from vkgroup.errors import InvalidInput, OutOfMemory, Unsupported

SECONDS = choices.BENCH_SECONDS
"""Default duration of the timed rounds of one row, in seconds."""

_RUNS = 40
"""Number of runs of its first variant that must fit into a row's duration on a CPU device."""


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes
    ----------
    seed : seed of all data.
    seconds : duration of the timed rounds of one row; the warm-up takes up to half as long in addition.
    sizes : sizes that replace each definition's own; empty: no replacement.
    sweep : ``"size"`` or a tuning parameter, for one row per value; None: no sweep.
    smoke : whether to verify at the smallest sizes without timing.
    peers : names of the peers to run; None: all available peers.
    """

    seed: int
    seconds: float = SECONDS
    sizes: tuple[int, ...] = ()
    sweep: str | None = None
    smoke: bool = False
    peers: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Result:
    """Results of a run.

    Attributes
    ----------
    rows : the rows in the order of measurement.
    cache : the last-level cache; data is larger than it.
    peers : version of each peer that was run.
    absent : peers that were not run, with the reasons.
    notes : remarks that concern all rows.
    """

    rows: tuple[Row, ...]
    cache: Cache
    peers: Mapping[str, str]
    absent: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Whether any result is wrong."""
        return any(row.wrong for row in self.rows)


def run(
    device: Device,
    definitions: Sequence[Definition],
    options: Options,
    *,
    ceilings: Sequence[Definition] | None = None,
    peers: Mapping[str, Peer] | None = None,
    on_row: Callable[[Result, int], None] = lambda result, total: None,
) -> Result:
    """Run benchmarks.

    Parameters
    ----------
    device : the device to measure.
    definitions : the benchmarks; `vkgroup.bench.catalogue.choose` finds them by name.
    options : options of the run.
    ceilings : definitions of ceilings; None means vkgroup's own.
    peers : peers by name; None means vkgroup's own.
    on_row : function that is called after each row with all results so far and the maximum number of rows.

    Raises
    ------
    InvalidInput
        No definition has the parameter to sweep, or a peer does not exist.
    DeviceLost, DispatchTimeout
        The device can no longer be used; `on_row` received all earlier results.
    """
    tops = catalogue.definitions() if ceilings is None else ceilings
    cache = last_level_cache(device.capabilities)
    entered, absent = _present(device, definitions, options, catalogue.peers() if peers is None else peers)
    versions = {name: peer.version() for name, peer in entered.items()}
    rows: list[Row] = []
    with ExitStack() as stack:
        rng = np.random.default_rng(options.seed)
        kept = stack.enter_context(Ceilings(device, tops, cache, rng))
        emptying = None if options.smoke else stack.enter_context(eviction(device, cache))
        warming = None if options.smoke else heat(device)
        if warming is not None:
            stack.enter_context(warming)
        course = Course(
            device, cache, emptying, warming, kept, entered, options.seed, options.seconds, options.smoke
        )
        heats = list(_heats(device, definitions, options))
        left_out = _not_swept(definitions, options)

        def found() -> Result:
            return Result(tuple(rows), cache, versions, absent, (*left_out, *kept.notes))

        for number, (definition, make_sizes) in enumerate(heats):
            sizes = make_sizes()
            for size, tuning in _points(definition, sizes, options):
                rows.append(measure(course, definition, size, tuning))
                left = (len(heats) - number - 1) * len(sizes)
                on_row(found(), len(rows) + left)
        return found()


def _present(
    device: Device, definitions: Sequence[Definition], options: Options, known: Mapping[str, Peer]
) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return the available peers, and the reasons why others are not available."""
    wanted = tuple(known) if options.peers is None else options.peers
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(f"There is no peer {unknown[0]!r}; there are {', '.join(known) or 'none'}.")
    entered: dict[str, Peer] = {}
    absent: dict[str, str] = {}
    for name in wanted:
        reason = known[name].available(device)
        if reason is None:
            entered[name] = known[name]
        else:
            absent[name] = reason
    return entered, absent


def _heats(
    device: Device, definitions: Sequence[Definition], options: Options
) -> Iterator[tuple[Definition, Callable[[], tuple[int, ...]]]]:
    """Yield each definition with a function that finds its sizes, which may run some of them."""
    swept = options.sweep not in (None, "size")
    able = [one for one in definitions if not swept or options.sweep in one.tuning]
    if not able:
        known = sorted({name for one in definitions for name in one.tuning})
        raise InvalidInput(
            f"None of these benchmarks can be swept over {options.sweep!r}; they can be swept over"
            f" {', '.join(['size', *known])}."
        )
    for definition in able:
        yield definition, partial(_sizes, device, definition, options)


def _not_swept(definitions: Sequence[Definition], options: Options) -> tuple[str, ...]:
    """Return a note on the benchmarks that a sweep omits."""
    if options.sweep in (None, "size"):
        return ()
    names = [one.name for one in definitions if options.sweep not in one.tuning]
    return (
        (f"Omitted, since they have no {options.sweep} to sweep over: {', '.join(names)}.",) if names else ()
    )


def _sizes(device: Device, definition: Definition, options: Options) -> tuple[int, ...]:
    if options.sizes and options.sweep != "size":
        return options.sizes
    if options.smoke:
        return definition.smoke
    most = max(options.sizes) if options.sizes else _default_size(device, definition, options)
    if options.sweep == "size":
        return tuple(size for size in definition.sizes if size <= most) or (most,)
    return (most,)


def _default_size(device: Device, definition: Definition, options: Options) -> int:
    """Return the largest size that fits into memory and, on a CPU device, into the available time."""
    try:
        if device.capabilities.is_gpu:
            return largest_in_memory(definition, device)
        rng = np.random.default_rng(options.seed)
        return climb(
            definition.sizes, options.seconds / _RUNS, lambda size: _spent(device, definition, size, rng)
        )
    except (Unsupported, OutOfMemory):
        # The row will report the error.
        return definition.sizes[0]


def _spent(device: Device, definition: Definition, size: int, rng: np.random.Generator) -> float:
    """Return the seconds of a run of the slowest variant; peers are not run."""
    entrants = Entrants(device, definition.make(device, size, {}), rng, {})
    try:
        entrants.enter()
        return max((time_once(lane.prepared[0].time) for lane in entrants.lanes.values()), default=0.0)
    finally:
        entrants.close()


def _points(
    definition: Definition, sizes: Sequence[int], options: Options
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the size and the tuning of each row."""
    for size in sizes:
        if options.sweep in (None, "size"):
            yield size, {}
        else:
            assert options.sweep is not None
            yield from ((size, {options.sweep: value}) for value in definition.tuning[options.sweep])
